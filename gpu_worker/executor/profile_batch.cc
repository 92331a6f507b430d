#include "gpu_worker/executor/profile_batch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/cost/scale_profile.h"

namespace plait {
namespace {

KernelProfile Visit(Executor& executor, const LoneKernel& lone, const ProfileOptions& options,
                    const Yardsticks& of_batch) {
  // Whether there are so many threads is found when the kernel is loaded.
  const int width = std::clamp(lone.kernel.width, 1, executor.device().threads);
  Yardsticks before = of_batch;
  before.multiply_add_flops_per_us = executor.ReadMultiplyAddRate(width);
  KernelProfile measured = ProfileKernel(executor, lone, options);
  Yardsticks after = of_batch;
  after.multiply_add_flops_per_us = executor.ReadMultiplyAddRate(width);
  measured.profile.yardsticks = YardsticksBetween(before, after);
  return measured;
}

bool IsSteady(const Profile& profile) { return profile.yardsticks.drift <= kYardstickDriftMax; }

// A kernel that takes longer than it may be measured for was measured long enough.
bool IsWorthAVisit(const Profile& profile, const ProfileOptions& options, int visits) {
  return profile.samples > 0 &&
         profile.latency_us_median < absl::ToDoubleMicroseconds(options.time_max) &&
         (visits < kVisits || !IsSteady(profile));
}

bool IsBetter(const Profile& a, const Profile& b, const Yardsticks& present) {
  if (IsSteady(a) != IsSteady(b)) return IsSteady(a);
  return ScaledToPresent(a, present).latency_us_median <
         ScaledToPresent(b, present).latency_us_median;
}

// `reading` is that of the moment before, and becomes that of the moment after.
absl::StatusOr<std::vector<KernelProfile>> ProfileBatch(Executor& executor,
                                                        absl::Span<const LoneKernel> kernels,
                                                        const ProfileOptions& options,
                                                        const std::stop_token& stop,
                                                        Yardsticks& reading) {
  const ProfileOptions half = {.samples_max = options.samples_max / 2,
                               .time_max = options.time_max / 2};
  std::vector<KernelProfile> best(kernels.size());
  for (int visits = 0; visits < kVisitsMax; ++visits) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (stop.stop_requested()) return absl::CancelledError("the task is not wanted any more");
      if (visits > 0 && !IsWorthAVisit(best[i].profile, half, visits)) continue;
      KernelProfile measured = Visit(executor, kernels[i], half, reading);
      const bool counts = visits == 0 || (measured.profile.samples > 0 &&
                                          IsBetter(measured.profile, best[i].profile, reading));
      if (counts) best[i] = std::move(measured);
    }
  }
  const Yardsticks before = std::exchange(reading, executor.ReadYardsticks());
  const Yardsticks of_batch = YardsticksBetween(before, reading);
  for (KernelProfile& measured : best) {
    measured.profile.yardsticks.read_bytes_per_us = of_batch.read_bytes_per_us;
  }
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
