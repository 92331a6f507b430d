#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/launch.h"
#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// Errors: kInvalidArgument for a shape that no device or not this kernel can be launched with.
absl::Status CheckShape(const Program& program, const LaunchShape& shape);

// A launch that is run block by block, so that blocks of several launches can take turns. Movable.
// Not thread-safe.
class KernelRun {
 public:
  // kWaits: a thread is at griddepcontrol.wait; RunBlock() goes on there.
  enum class Progress { kBlockEnded, kWaits, kEnded };

  // `program` and `memory` outlive it. `has_dependencies`: griddepcontrol.wait waits until
  // EndDependencies(); else it does nothing.
  // Errors: as Launch().
  static absl::StatusOr<KernelRun> Begin(const Program& program, DeviceMemory& memory,
                                         const LaunchShape& shape,
                                         absl::Span<const void* const> arguments,
                                         const LaunchOptions& options,
                                         bool has_dependencies = false);
  KernelRun(KernelRun&& other) noexcept;
  ~KernelRun();

  // Runs one block to its end, or until all that is left of it waits.
  // Errors: as Launch(); after one only what was touched can be asked for.
  // REQUIRES: it has not returned kEnded.
  absl::StatusOr<Progress> RunBlock();

  // What the launch depends on by programmatic edges has ended.
  void EndDependencies();

  // What was accessed so far, and the part of it that threads have accessed before they came to
  // griddepcontrol.wait. The latter is empty without dependencies.
  Touches touches() const;
  const Touches& early_touches() const;

  // Whether all threads that have ended have come through griddepcontrol.wait.
  bool has_waited() const;

  // REQUIRES: RunBlock() has returned kEnded.
  LaunchReport TakeReport();

 private:
  class Grid;

  KernelRun();

  std::unique_ptr<Grid> grid_;
};

}  // namespace plait::simulated_gpu
