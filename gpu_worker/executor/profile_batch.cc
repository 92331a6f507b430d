#include "gpu_worker/executor/profile_batch.h"

#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/executor/stopwatch.h"

namespace plait {
namespace {

// A kernel that takes longer than it may be measured for was measured long enough.
bool IsWorthAVisit(const Profile& profile, const ProfileOptions& options) {
  return profile.samples > 0 &&
         profile.latency_us_median < absl::ToDoubleMicroseconds(options.time_max);
}

// Visits the kernels twice, each time for half of the samples, and keeps the faster half: where the
// machine lends a core to somebody else, which nobody here sees, it does so for about as long as a
// visit takes.
absl::StatusOr<std::vector<KernelProfile>> ProfileEach(Executor& executor,
                                                       absl::Span<const LoneKernel> kernels,
                                                       const ProfileOptions& options,
                                                       const std::stop_token& stop) {
  const ProfileOptions half = {.samples_max = options.samples_max / 2,
                               .time_max = options.time_max / 2};
  std::vector<KernelProfile> profiles(kernels.size());
  for (const bool again : {false, true}) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (stop.stop_requested()) return absl::CancelledError("the task is not wanted any more");
      if (again && !IsWorthAVisit(profiles[i].profile, half)) continue;
      KernelProfile measured = ProfileKernel(executor, kernels[i], half);
      const bool is_slower =
          again && measured.profile.latency_us_median > profiles[i].profile.latency_us_median;
      if (!is_slower) profiles[i] = std::move(measured);
    }
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
