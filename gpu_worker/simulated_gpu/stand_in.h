#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/launch.h"
#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// A kernel of a library, such as cuDNN's, whose code nobody has: in its place stands what the
// library was asked for, computed in float64 by the host. It stands in for the result and for what
// is touched, not for speed or rounding. Immutable; a graph's copies of a node share it.
//
// Its parameters are words of 8 bytes: addresses of the device, or a number's bits.
class StandIn {
 public:
  virtual ~StandIn() = default;

  // Begins with "simulated_", so that nobody takes it for the library's.
  virtual const std::string& name() const = 0;
  // A plausible grid, for those who count blocks.
  virtual LaunchShape shape() const = 0;
  virtual int parameters() const = 0;

  // What a run with these arguments touches, whether it succeeds or not. REQUIRES: as many as
  // there are parameters.
  virtual Touches TouchesOf(absl::Span<const uint64_t> arguments) const = 0;
  // Errors: kInvalidArgument misaligned, kOutOfRange, kFailedPrecondition for bytes that nobody has
  // written, kAborted where results lie over operands.
  virtual absl::Status Run(absl::Span<const uint64_t> arguments, DeviceMemory* memory) const = 0;
};

}  // namespace plait::simulated_gpu
