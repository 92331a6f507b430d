#include "gpu_worker/simulated_gpu/launch.h"

#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/kernel_run.h"

namespace plait::simulated_gpu {

absl::StatusOr<LaunchReport> Launch(const Program& program, DeviceMemory& memory,
                                    const LaunchShape& shape,
                                    absl::Span<const void* const> arguments,
                                    const LaunchOptions& options) {
  PLAIT_ASSIGN_OR_RETURN(KernelRun run,
                         KernelRun::Begin(program, memory, shape, arguments, options));
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const KernelRun::Progress progress, run.RunBlock());
    if (progress == KernelRun::Progress::kEnded) return run.TakeReport();
  }
}

}  // namespace plait::simulated_gpu
