#include "gpu_worker/executor/profile_batch.h"

#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/executor/stopwatch.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<KernelProfile>> ProfileEach(Executor& executor,
                                                       absl::Span<const LoneKernel> kernels,
                                                       const ProfileOptions& options,
                                                       const std::stop_token& stop) {
  std::vector<KernelProfile> profiles;
  for (const LoneKernel& kernel : kernels) {
    if (stop.stop_requested()) return absl::CancelledError("the task is not wanted any more");
    profiles.push_back(ProfileKernel(executor, kernel, options));
  }
  return profiles;
}

// `reading` is that of the moment before, and becomes that of the moment after.
absl::StatusOr<std::vector<KernelProfile>> ProfileBatch(Executor& executor,
                                                        absl::Span<const LoneKernel> kernels,
                                                        const ProfileOptions& options,
                                                        const std::stop_token& stop,
                                                        Yardsticks& reading) {
  const Stopwatch stopwatch;
  std::vector<KernelProfile> best;
  Yardsticks best_yardsticks;
  for (int attempt = 0; attempt < kBatchAttemptsMax; ++attempt) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<KernelProfile> profiles,
                           ProfileEach(executor, kernels, options, stop));
    const Yardsticks before = std::exchange(reading, executor.ReadYardsticks());
    const Yardsticks yardsticks = YardsticksBetween(before, reading);
    if (attempt == 0 || yardsticks.drift < best_yardsticks.drift) {
      best = std::move(profiles);
      best_yardsticks = yardsticks;
    }
    if (best_yardsticks.drift <= kYardstickDriftMax) break;
    if (stopwatch.elapsed_us() > absl::ToDoubleMicroseconds(kBatchRepeatTimeMax)) break;
  }
  for (KernelProfile& measured : best) measured.profile.yardsticks = best_yardsticks;
  return best;
}

}  // namespace

absl::StatusOr<std::vector<KernelProfile>> ProfileKernels(Executor& executor,
                                                          absl::Span<const LoneKernel> kernels,
                                                          const ProfileOptions& options,
                                                          const std::stop_token& stop) {
  std::vector<KernelProfile> profiles;
  if (kernels.empty()) return profiles;
  // The reading behind one batch is the one before the next.
  Yardsticks reading = executor.ReadYardsticks();
  for (size_t begin = 0; begin < kernels.size(); begin += kKernelsOfBatch) {
    PLAIT_ASSIGN_OR_RETURN(
        std::vector<KernelProfile> batch,
        ProfileBatch(executor, kernels.subspan(begin, kKernelsOfBatch), options, stop, reading));
    std::move(batch.begin(), batch.end(), std::back_inserter(profiles));
  }
  return profiles;
}

}  // namespace plait
