#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/plan/plan.h"

namespace plait {

// A launch of a loaded plan.
// The step's number is its index among the plan's steps, which is also its index in every list
// here.
struct LoadedStep {
  std::unique_ptr<CpuKernel> kernel;
  // Steps of other streams that must be finished before, all with smaller numbers.
  std::vector<int> waits;
  // The run in which the step last finished; runs are counted from 1.
  // Behind a pointer, because an atomic cannot move while steps are collected. Stored with release
  // and loaded with acquire order, so that whoever sees the number also sees what the step wrote.
  std::unique_ptr<std::atomic<int64_t>> finished;
};

// Consecutive steps of a plan that are equally wide: in order, each on `width` threads; or, where
// two of them fit beside each other, in lanes of `width` threads, where a step that needs one of
// another lane spins until it is finished. A hand-over by futex would cost 20 us, spinning costs
// 0.2.
//
// Spinning has its price where cores are shared with others: a lane that waits for long yields its
// core, and takes over the lane that it waits for where no thread has begun that. Between segments
// all lanes have ended, so that no step waits for one of an earlier segment.
struct LaneSegment {
  int width = 1;  // threads of each step
  // Numbers of steps, ascending within a lane; no lane is empty.
  std::vector<std::vector<int>> lanes;
  std::unique_ptr<std::atomic<int64_t>[]> begun;  // by lane: the last run in which it was begun
  std::vector<absl::Status> statuses;             // by lane: of the last run
};

// The lanes in which a plan for so many threads runs steps of this width: as many as there is room
// for, at least one.
int LaneCount(int threads, int width);

// Divides a plan's steps. Steps of one width are divided into a lane per stream (streams beyond
// LaneCount share lanes, in plan order, so that no lane can wait for itself).
// Pure. No lane of a segment waits for a later step, which CheckPlan has seen to.
std::vector<LaneSegment> MakeSegments(const Plan& plan);

// Runs all segments once. `run` is greater than in any run before.
// Blocks until the last step has ended. After an error the rest of its segment still runs, on
// whatever the failed step left behind, and later segments do not.
// Errors: those of the kernels; the first of the first lane that has one.
// REQUIRES: the calling thread leads a team of the plan's threads.
absl::Status RunSegments(std::vector<LaneSegment>* segments, std::vector<LoadedStep>* steps,
                         int64_t run);

}  // namespace plait
