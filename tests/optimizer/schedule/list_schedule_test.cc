#include "optimizer/schedule/list_schedule.h"

#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

// Launch by launch, in order of issue: "3w" whole, "3.1" narrow on stream 1; then the makespan.
std::string ListText(const ScheduleProblem& problem, const std::vector<WidthChoice>& widths) {
  const Schedule schedule = ListSchedule(problem, widths);
  std::string text;
  for (const Placement& placement : schedule) {
    const std::string where = placement.whole ? "w" : absl::StrCat(".", placement.stream);
    absl::StrAppend(&text, placement.launch, where, " ");
  }
  return absl::StrCat(text, "in ", MakespanUs(problem, schedule), " us");
}

std::vector<WidthChoice> All(const ScheduleProblem& problem, WidthChoice choice) {
  return std::vector<WidthChoice>(problem.launches.size(), choice);
}

// The worked example of list_schedule.cc.
ScheduleProblem ListExample() {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(4, 6, {}), LaunchOf(2, 2, {0}), LaunchOf(5, 8, {0}),
                      LaunchOf(2, 3, {1}), LaunchOf(3, 4, {2, 3})};
  problem.device = {.threads = 2, .streams_max = 2};
  return problem;
}

TEST(ListScheduleTest, WorksOnTheExample) {
  EXPECT_EQ(ListText(ListExample(), All(ListExample(), WidthChoice::kAuto)),
            "0w 2.0 1.1 3.1 4w in 15 us");
  EXPECT_EQ(ListText(ListExample(), All(ListExample(), WidthChoice::kPart)),
            "0.0 2.0 1.1 3.1 4.1 in 18 us");
  EXPECT_EQ(ListText(ListExample(), All(ListExample(), WidthChoice::kWhole)),
            "0w 2w 1w 3w 4w in 16 us");
}

TEST(ListScheduleTest, AWidthThatIsDecidedIsKept) {
  std::vector<WidthChoice> widths = All(ForkJoin(), WidthChoice::kPart);
  widths[3] = WidthChoice::kWhole;
  const Schedule schedule = ListSchedule(ForkJoin(), widths);
  for (const Placement& placement : schedule) EXPECT_EQ(placement.whole, placement.launch == 3);
}

TEST(ListScheduleTest, StaysOnTheStreamOfAPredecessor) {
  // Two chains that never wait for each other: each keeps its stream.
  ScheduleProblem problem;
  problem.launches = {LaunchOf(9, 3, {}), LaunchOf(9, 3, {}), LaunchOf(9, 3, {1}),
                      LaunchOf(9, 3, {0})};
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_EQ(ListText(problem, All(problem, WidthChoice::kPart)), "0.0 1.1 2.1 3.0 in 6 us");
}

TEST(ListScheduleTest, OneStreamTakesTheLongestPathFirst) {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(9, 1, {}), LaunchOf(9, 2, {}), LaunchOf(9, 5, {0})};
  problem.device = {.threads = 1, .streams_max = 1};
  EXPECT_EQ(ListText(problem, All(problem, WidthChoice::kPart)), "0.0 2.0 1.0 in 8 us");
}

TEST(ListScheduleTest, NothingToDoIsDone) { EXPECT_TRUE(ListSchedule({}, {}).empty()); }

}  // namespace
}  // namespace plait
