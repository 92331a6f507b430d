#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <cuda.h>

#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/launch.h"
#include "gpu_worker/simulated_gpu/replay/operation.h"
#include "gpu_worker/simulated_gpu/stand_in.h"

namespace plait::simulated_gpu {

// What can be enqueued to a stream, and is then an operation, or becomes a node of a graph where
// the stream is captured. Values: copies share a kernel's arguments, which nobody changes.

// The values of a kernel's parameters, and where each begins, as the driver hands them out.
struct KernelArguments {
  std::vector<std::byte> bytes;
  std::vector<void*> pointers;
};

// What a kernel does: PTX, or what stands in for a library's. One of the two is set.
struct KernelCode {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const StandIn> stand_in;

  const std::string& name() const { return program ? program->kernel : stand_in->name(); }
};

struct KernelCommand {
  CUkernel kernel = nullptr;
  KernelCode code;
  LaunchShape shape;
  std::shared_ptr<KernelArguments> arguments;
};

// Between device and host, or on the device. A host's address is one of this process.
struct CopyCommand {
  uint64_t to = 0;
  uint64_t from = 0;
  size_t bytes = 0;
  bool to_host = false;
  bool from_host = false;
  // What pageable memory of the host had when the copy was enqueued; null: it is read when the copy
  // happens.
  std::shared_ptr<const std::vector<std::byte>> taken;
};

struct FillCommand {
  uint64_t to = 0;
  unsigned char byte = 0;
  size_t bytes = 0;
};

// std::monostate does nothing.
using Command = std::variant<std::monostate, KernelCommand, CopyCommand, FillCommand>;

// "kernel plait_kernel", "copy", "fill", "nothing".
std::string NameOf(const Command& command);

// `memory` outlives the action. `seed` and `instructions_max`: as LaunchOptions has them. Null for
// a command that does nothing.
std::unique_ptr<Action> MakeAction(const Command& command, DeviceMemory* memory, uint64_t seed,
                                   int64_t instructions_max, bool has_dependencies);

}  // namespace plait::simulated_gpu
