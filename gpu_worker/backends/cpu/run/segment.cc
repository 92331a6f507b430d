#include "gpu_worker/backends/cpu/run/segment.h"

#include <algorithm>

#include <sched.h>

#include "absl/container/inlined_vector.h"
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
// waits only for smaller ones, and those before it in its lane are smaller too. Each step of a lane
// is the thread's that began it, and no task that any thread may take, because the hand-over is
// then a load from a cache line that the other core writes once: 0.2 us where waking a sleeping
// thread takes 20. Steps of some 5 us, small depthwise convolutions among them, gain from a second
// lane only so. A whole lane may be taken, as long as nobody has begun it: where another program
// has the second core, the first thread runs both lanes, in the order of the plan.

namespace plait {
namespace {

// After some 20 us another thread probably needs this core to get on.
constexpr int kSpinsBeforeYield = 1000;

// A pause leaves the core's units to its other hardware thread while the loop has nothing to do.
void PauseWhileSpinning(int spins) {
  if (spins >= kSpinsBeforeYield) {
    sched_yield();
    return;
  }
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// One thread's way through a segment: a lane, and those that it takes over.
class LaneRunner {
 public:
  LaneRunner(LaneSegment* segment, std::vector<LoadedStep>* steps, int64_t run)
      : segment_(*segment), steps_(*steps), run_(run) {}

  // Nothing where another thread has begun the lane. Goes on after an error: steps of other lanes
  // may wait for those behind it. The first error of a lane counts: the next ones come from what
  // the failed step did not write.
  void Run(int lane) {
    if (!Begin(lane)) return;
    is_first_ = lane == 0;
    while (Place* const place = Next()) {
      LoadedStep& step = steps_[StepAt(*place)];
      if (!AwaitStepsBefore(step)) continue;
      ++place->next;
      const absl::Status status = step.kernel->Run();
      // Also after an error, or others would wait forever.
      step.finished->store(run_, std::memory_order_release);
      absl::Status& first = segment_.statuses[place->lane];
      if (first.ok()) first = status;
    }
  }

 private:
  // How far the thread is in a lane that it has begun.
  struct Place {
    int lane;
    size_t next = 0;
  };

  int StepAt(const Place& place) const { return segment_.lanes[place.lane][place.next]; }

  bool Begin(int lane) {
    std::atomic<int64_t>& begun = segment_.begun[lane];
    int64_t before = begun.load(std::memory_order_relaxed);
    if (before == run_ || !begun.compare_exchange_strong(before, run_)) return false;
    segment_.statuses[lane] = absl::OkStatus();
    places_.push_back({lane});
    return true;
  }

  // Where the step with the smallest number is; null: the thread is through.
  Place* Next() {
    Place* first = nullptr;
    for (Place& place : places_) {
      if (place.next == segment_.lanes[place.lane].size()) continue;
      if (first == nullptr || StepAt(place) < StepAt(*first)) first = &place;
    }
    return first;
  }

  // False: a lane was taken over, in which steps come before this one.
  bool AwaitStepsBefore(const LoadedStep& step) {
    for (const int wait : step.waits) {
      const std::atomic<int64_t>& finished = *steps_[wait].finished;
      for (int spins = 0; finished.load(std::memory_order_acquire) < run_;
           spins = std::min(spins + 1, kSpinsBeforeYield + 1)) {
        if (spins == kSpinsBeforeYield) {
          const int lane = LaneOf(wait);
          if (Begin(lane)) return false;
          if (is_first_) NoteAwaited(lane, segment_.width);
        }
        PauseWhileSpinning(spins);
      }
    }
    return true;
  }

  // REQUIRES: the step is one of the segment.
  int LaneOf(int step) const {
    int lane = 0;
    while (!std::binary_search(segment_.lanes[lane].begin(), segment_.lanes[lane].end(), step)) {
      ++lane;
    }
    return lane;
  }

  LaneSegment& segment_;
  std::vector<LoadedStep>& steps_;
  const int64_t run_;
  bool is_first_ = false;  // the calling thread's group is that of the thread that asked
  absl::InlinedVector<Place, 4> places_;
};

}  // namespace

int LaneCount(int threads, int width) { return std::max(1, threads / width); }

std::vector<LaneSegment> MakeSegments(const Plan& plan) {
  std::vector<LaneSegment> segments;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (segments.empty() || segments.back().width != step.kernel.width) {
      segments.push_back({step.kernel.width, {}, {}});
    }
    LaneSegment& segment = segments.back();
    const int lanes = LaneCount(plan.threads, step.kernel.width);
    segment.lanes.resize(lanes);
    segment.lanes[step.stream % lanes].push_back(static_cast<int>(i));
  }
  for (LaneSegment& segment : segments) {
    const auto is_empty = [](const std::vector<int>& lane) { return lane.empty(); };
    segment.lanes.erase(std::remove_if(segment.lanes.begin(), segment.lanes.end(), is_empty),
                        segment.lanes.end());
    segment.statuses.resize(segment.lanes.size());
    segment.begun = std::make_unique<std::atomic<int64_t>[]>(segment.lanes.size());
  }
  return segments;
}

absl::Status RunSegments(std::vector<LaneSegment>* segments, std::vector<LoadedStep>* steps,
                         int64_t run) {
  for (LaneSegment& segment : *segments) {
    RunGroupsAnywhere(static_cast<int>(segment.lanes.size()), segment.width, GroupLength::kLong,
                      [&](int lane) { LaneRunner(&segment, steps, run).Run(lane); });
    for (const absl::Status& status : segment.statuses) PLAIT_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace plait
