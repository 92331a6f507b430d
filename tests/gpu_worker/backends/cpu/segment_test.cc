#include "gpu_worker/backends/cpu/run/segment.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "gmock/gmock.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A plan of steps with these widths and streams.
Plan PlanOf(int threads, const std::vector<std::pair<int, int>>& widths_and_streams) {
  Plan plan;
  plan.threads = threads;
  for (const auto& [width, stream] : widths_and_streams) {
    Step& step = plan.steps.emplace_back();
    step.kernel.width = width;
    step.stream = stream;
  }
  return plan;
}

TEST(SegmentTest, StepsOfOneWidthAreASegmentWithALanePerStream) {
  const std::vector<LaneSegment> segments =
      MakeSegments(PlanOf(2, {{2, 0}, {1, 0}, {1, 1}, {1, 0}, {2, 1}}));
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_THAT(segments[0].lanes, ElementsAre(ElementsAre(0)));
  EXPECT_THAT(segments[1].lanes, ElementsAre(ElementsAre(1, 3), ElementsAre(2)));
  EXPECT_THAT(segments[2].lanes, ElementsAre(ElementsAre(4)));
}

TEST(SegmentTest, LanesAreAsManyAsFitBesideEachOther) {
  const std::vector<LaneSegment> segments =
      MakeSegments(PlanOf(5, {{2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}}));
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].width, 2);
  EXPECT_THAT(segments[0].lanes, ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_EQ(segments[1].width, 3);
  EXPECT_THAT(segments[1].lanes, ElementsAre(ElementsAre(3, 4)));
}

TEST(SegmentTest, APlanWithoutStepsHasNoSegments) {
  EXPECT_THAT(MakeSegments(PlanOf(2, {})), IsEmpty());
}

// Notes the order in which steps run, and on how many threads.
struct Record {
  std::mutex mutex;
  std::vector<int> order;
  std::vector<int> widths;
};

class RecordingKernel : public CpuKernel {
 public:
  RecordingKernel(Record* record, int step, absl::Status status)
      : record_(record), step_(step), status_(std::move(status)) {}

  absl::Status Run() override {
    const std::lock_guard lock(record_->mutex);
    record_->order.push_back(step_);
    record_->widths.push_back(TeamWidth());
    return status_;
  }

 private:
  Record* record_;
  int step_;
  absl::Status status_;
};

std::vector<LoadedStep> StepsOf(const Plan& plan, Record* record, int failing_step = -1) {
  std::vector<LoadedStep> steps;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto step = static_cast<int>(i);
    const absl::Status status =
        step == failing_step ? absl::InvalidArgumentError("of the test") : absl::OkStatus();
    steps.push_back({std::make_unique<RecordingKernel>(record, step, status), plan.steps[i].waits,
                     std::make_unique<std::atomic<int64_t>>(0)});
  }
  return steps;
}

TEST(SegmentTest, AStepRunsOnItsThreadsAfterThoseThatItWaitsFor) {
  Plan plan = PlanOf(4, {{2, 0}, {2, 1}, {2, 0}, {4, 0}, {1, 3}});
  plan.steps[1].waits = {0};
  plan.steps[2].waits = {1};
  Team team(4, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  std::vector<LaneSegment> segments = MakeSegments(plan);
  Record record;
  std::vector<LoadedStep> steps = StepsOf(plan, &record);
  for (int64_t run = 1; run <= 50; ++run) {
    record.order.clear();
    record.widths.clear();
    ASSERT_TRUE(RunSegments(&segments, &steps, run).ok());
    EXPECT_THAT(record.order, ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(record.widths, ElementsAre(2, 2, 2, 4, 1));
  }
}

// On one core the first thread often waits for a step of a lane that nobody has begun, and runs it.
TEST(SegmentTest, LanesThatNobodyBeginsAreTakenOver) {
  cpu_set_t before, one;
  pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  Plan plan = PlanOf(3, {{1, 0}, {1, 1}, {1, 2}, {1, 0}, {1, 1}, {1, 2}, {1, 0}, {1, 0}});
  plan.steps[1].waits = {0};
  plan.steps[2].waits = {1};
  plan.steps[3].waits = {2};
  plan.steps[6].waits = {4, 5};
  {
    Team team(3, ThreadPlacement::kAnywhere);
    const Team::Lead lead(team);
    std::vector<LaneSegment> segments = MakeSegments(plan);
    Record record;
    std::vector<LoadedStep> steps = StepsOf(plan, &record);
    for (int64_t run = 1; run <= 2000; ++run) {
      record.order.clear();
      ASSERT_TRUE(RunSegments(&segments, &steps, run).ok());
      ASSERT_THAT(record.order, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
      const auto at = [&](int step) {
        return std::find(record.order.begin(), record.order.end(), step);
      };
      for (const auto& [step, later] : {std::pair(0, 1), {1, 2}, {2, 3}, {1, 4}, {4, 6}, {5, 6}}) {
        ASSERT_LT(at(step), at(later));
      }
    }
  }
  pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
}

TEST(SegmentTest, AfterAnErrorNoLaterSegmentRunsAndNoLaneWaitsForEver) {
  Plan plan = PlanOf(2, {{1, 0}, {1, 1}, {1, 0}, {2, 0}});
  plan.steps[1].waits = {0};
  Team team(2, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  std::vector<LaneSegment> segments = MakeSegments(plan);
  Record record;
  std::vector<LoadedStep> steps = StepsOf(plan, &record, /*failing_step=*/0);
  EXPECT_EQ(RunSegments(&segments, &steps, 1).message(), "of the test");
  EXPECT_THAT(record.order, testing::UnorderedElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace plait
