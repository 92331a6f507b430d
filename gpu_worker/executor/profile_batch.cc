#include "gpu_worker/executor/profile_batch.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/cost/scale_profile.h"

namespace plait {
namespace {

// 5 %: visits of a machine that nobody disturbs differ by less.
constexpr double kConfirmedWithin = 0.05;

KernelProfile Visit(Executor& executor, const LoneKernel& lone, const ProfileOptions& options,
                    const Yardsticks& of_batch, const std::stop_token& stop) {
  executor.AwaitNearThreads(stop);
  // Whether there are so many threads is found when the kernel is loaded.
  const int width = std::clamp(lone.kernel.width, 1, executor.device().threads);
  Yardsticks before = of_batch;
  before.multiply_add_flops_per_us = executor.ReadMultiplyAddRate(width);
  KernelProfile measured = ProfileKernel(executor, lone, options);
  Yardsticks after = of_batch;
  after.multiply_add_flops_per_us = executor.ReadMultiplyAddRate(width);
  measured.profile.yardsticks = YardsticksBetween(before, after);
  // Threads that have parted meanwhile are not what they were.
  if (executor.AreThreadsFar()) measured.profile.yardsticks.drift = 1;
  return measured;
}

// A kernel of the batch, as far as it was visited.
struct VisitedKernel {
  KernelProfile best;
  int visits = 0;
  // Whether the last visit took what the best one before took, beside the device's multiply-adds.
  bool is_confirmed = false;
};

// A kernel that takes longer than it may be measured for was measured long enough.
bool IsWorthAVisit(const VisitedKernel& kernel, const ProfileOptions& options) {
  if (kernel.visits == 0) return true;
  const Profile& profile = kernel.best.profile;
  if (profile.samples == 0 ||
      profile.latency_us_median >= absl::ToDoubleMicroseconds(options.time_max)) {
    return false;
  }
  return kernel.visits < kVisits || !(IsSteady(profile.yardsticks) || kernel.is_confirmed);
}

bool IsBetter(const Profile& a, const Profile& b, const Yardsticks& present) {
  const bool is_steady = IsSteady(a.yardsticks);
  if (is_steady != IsSteady(b.yardsticks)) return is_steady;
  return ScaledToPresent(a, present).latency_us_median <
         ScaledToPresent(b, present).latency_us_median;
}

// Adds what a visit measured. Of two visits the better one counts.
void AddVisit(KernelProfile measured, const Yardsticks& present, VisitedKernel& kernel) {
  ++kernel.visits;
  if (kernel.visits == 1) {
    kernel.best = std::move(measured);
    return;
  }
  if (measured.profile.samples == 0) return;
  const double before_us = ScaledToPresent(kernel.best.profile, present).latency_us_median;
  const double us = ScaledToPresent(measured.profile, present).latency_us_median;
  kernel.is_confirmed = std::abs(us - before_us) <= kConfirmedWithin * before_us;
  if (IsBetter(measured.profile, kernel.best.profile, present)) kernel.best = std::move(measured);
}

// `reading` is that of the moment before, and becomes that of the moment after.
absl::StatusOr<std::vector<KernelProfile>> ProfileBatch(Executor& executor,
                                                        absl::Span<const LoneKernel> kernels,
                                                        const ProfileOptions& options,
                                                        const std::stop_token& stop,
                                                        Yardsticks& reading) {
  const ProfileOptions half = {.samples_max = options.samples_max / 2,
                               .time_max = options.time_max / 2};
  std::vector<VisitedKernel> visited(kernels.size());
  for (int visits = 0; visits < kVisitsMax; ++visits) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (stop.stop_requested()) return absl::CancelledError("the task is not wanted any more");
      if (!IsWorthAVisit(visited[i], half)) continue;
      AddVisit(Visit(executor, kernels[i], half, reading, stop), reading, visited[i]);
    }
  }
  const Yardsticks before = std::exchange(reading, executor.ReadYardsticks());
  const Yardsticks of_batch = YardsticksBetween(before, reading);
  std::vector<KernelProfile> best;
  for (VisitedKernel& kernel : visited) {
    kernel.best.profile.yardsticks.read_bytes_per_us = of_batch.read_bytes_per_us;
    best.push_back(std::move(kernel.best));
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
  executor.Anticipate(kernels, stop);
  executor.AwaitNearThreads(stop);
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
