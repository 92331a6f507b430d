#include "gpu_worker/backends/cpu/run/segment.h"

#include <algorithm>

#include <sched.h>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/team.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Five steps of a plan for two threads: 0 and 4 are two threads wide, the others one; 1 and 3 are
// on stream 0 and 2 on stream 1; 3 reads what 2 wrote. There are three segments:
//   width 2: 0        both threads work on step 0
//   width 1: 1 3 | 2  two lanes; after step 1 the first one spins until step 2 is finished
//   width 2: 4        begins when both lanes have ended
// No lane can wait forever: of all steps that are not finished, the one with the smallest number
// waits only for smaller ones, and those before it in its lane are smaller too. A lane is a thread
// and not a task that any thread may take, because the hand-over is then a load from a cache line
// that the other core writes once: 0.2 us where waking a sleeping thread takes 20. Steps of some 5
// us, small depthwise convolutions among them, gain from a second lane only so.

namespace plait {
namespace {

// A pause leaves the core's units to its other hardware thread while the loop has nothing to do.
void PauseWhileSpinning(int spins) {
  // After some 20 us another thread probably needs this core to get on.
  constexpr int kSpinsBeforeYield = 1000;
  if (spins >= kSpinsBeforeYield) {
    sched_yield();
    return;
  }
#if defined(__x86_64__)
  _mm_pause();
#endif
}

void AwaitStep(const LoadedStep& step, int64_t run) {
  for (int spins = 0; step.finished->load(std::memory_order_acquire) < run; ++spins) {
    PauseWhileSpinning(std::min(spins, 1 << 20));
  }
}

absl::Status RunStep(LoadedStep* step, int64_t run) {
  absl::Status status = step->kernel->Run();
  // Also after an error, or others would wait forever.
  step->finished->store(run, std::memory_order_release);
  return status;
}

// Goes on after an error: steps of other lanes may wait for those behind it. The first error of a
// lane counts: the next ones come from what the failed step did not write.
absl::Status RunLane(absl::Span<const int> lane, std::vector<LoadedStep>* steps, int64_t run) {
  absl::Status first;
  for (const int index : lane) {
    LoadedStep* const step = &(*steps)[index];
    for (const int wait : step->waits) AwaitStep((*steps)[wait], run);
    const absl::Status status = RunStep(step, run);
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace

int LaneCount(int threads, int width) { return std::max(1, threads / width); }

std::vector<Segment> MakeSegments(const Plan& plan) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (segments.empty() || segments.back().width != step.kernel.width) {
      segments.push_back({step.kernel.width, {}, {}});
    }
    Segment& segment = segments.back();
    const int lanes = LaneCount(plan.threads, step.kernel.width);
    segment.lanes.resize(lanes);
    segment.lanes[step.stream % lanes].push_back(static_cast<int>(i));
  }
  for (Segment& segment : segments) {
    const auto is_empty = [](const std::vector<int>& lane) { return lane.empty(); };
    segment.lanes.erase(std::remove_if(segment.lanes.begin(), segment.lanes.end(), is_empty),
                        segment.lanes.end());
    segment.statuses.resize(segment.lanes.size());
  }
  return segments;
}

absl::Status RunSegments(std::vector<Segment>* segments, std::vector<LoadedStep>* steps,
                         int64_t run) {
  for (Segment& segment : *segments) {
    RunGroups(static_cast<int>(segment.lanes.size()), segment.width,
              [&](int lane) { segment.statuses[lane] = RunLane(segment.lanes[lane], steps, run); });
    for (const absl::Status& status : segment.statuses) PLAIT_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace plait
