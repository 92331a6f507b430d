#pragma once

#include <utility>

#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// A handle that is given back when its owner goes. Movable; moved from, it is empty.
// The runtime's complaints about giving back are dropped: the next call reports them again.
template <typename Handle, Status (Runtime::*kGiveBack)(Handle)>
class Owned {
 public:
  Owned() = default;
  // Takes `handle` over; `runtime` is not owned and outlives this.
  Owned(Runtime* runtime, Handle handle) : runtime_(runtime), handle_(handle) {}
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>((runtime_->*kGiveBack)(handle_).ok());
  }
  Owned(Owned&& other) noexcept
      : runtime_(other.runtime_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  Handle get() const { return handle_; }
  // Hands the handle over to the caller.
  Handle Release() { return std::exchange(handle_, nullptr); }

 private:
  Runtime* runtime_ = nullptr;
  Handle handle_ = nullptr;
};

using OwnedStream = Owned<Stream, &Runtime::DestroyStream>;
using OwnedEvent = Owned<Event, &Runtime::DestroyEvent>;
using OwnedGraph = Owned<Graph, &Runtime::DestroyGraph>;
using OwnedExec = Owned<GraphExec, &Runtime::DestroyExec>;
using OwnedLibrary = Owned<Library, &Runtime::UnloadLibrary>;
using OwnedMemory = Owned<void*, &Runtime::Free>;  // of the device

}  // namespace plait::cuda
