#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// Device memory that an operation reads, or writes (and may read).
struct MemoryAccess {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

// Whether two accesses must not happen at the same time.
bool Conflict(const MemoryAccess& a, const MemoryAccess& b);

// Finds operations of different streams that touch the same memory with nothing between them that
// orders them. Every stream has a clock: how many operations of each stream happen before what it
// holds next. An event is a copy of a clock; waiting for it joins the clocks. The host has one,
// too, that synchronizing moves on, and that whatever is enqueued later starts from.
class AccessOrder {
 public:
  // An operation that is enqueued now. Returns what it races with, if anything.
  std::optional<std::string> Enqueue(Stream stream, const std::string& name,
                                     const std::vector<MemoryAccess>& accesses);
  void Record(Event event, Stream stream);
  void Wait(Stream stream, Event event);
  void Synchronize(Stream stream);
  void SynchronizeAll();

  // How many operations the stream has had, and whether the host knows that so many have happened.
  int64_t place(Stream stream) const;
  bool HostKnows(Stream stream, int64_t place) const;

 private:
  using Clock = std::map<Stream, int64_t>;
  struct Past {
    MemoryAccess access;
    Stream stream;
    int64_t place;
    std::string name;
  };

  static int64_t At(const Clock& clock, Stream stream);
  static void Join(const Clock& from, Clock* to);
  bool IsKnown(const Past& past, const Clock& clock) const;

  std::map<Stream, Clock> streams_;
  std::map<Event, Clock> events_;
  Clock host_;
  // What the host does not know to have happened; a later access that covers one replaces it.
  std::vector<Past> past_;
};

}  // namespace plait::cuda
