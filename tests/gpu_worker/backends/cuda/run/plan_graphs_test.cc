#include "gpu_worker/backends/cuda/run/plan_graphs.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

using Priorities = std::multimap<std::string, int>;

// Steps of one kernel each, by stream and what they wait for.
struct PlannedStep {
  int stream;
  std::vector<int> waits;
};

// What the kernels of a plan's graphs have, "k0" that of step 0.
Priorities PrioritiesOf(const std::vector<PlannedStep>& steps, int streams) {
  RecordingRuntime runtime;
  Plan plan;
  plan.streams = streams;
  plan.threads = 2;
  std::vector<StepLaunch> launches;
  for (size_t i = 0; i < steps.size(); ++i) {
    plan.steps.push_back({.stream = steps[i].stream, .waits = steps[i].waits});
    plan.steps.back().kernel.width = 1;
    const auto kernel = runtime.AddKernel("k" + std::to_string(i), 1, 0, nullptr);
    launches.push_back({.enqueue = [&runtime, kernel](Stream stream) {
      return runtime.LaunchKernel(kernel, {}, nullptr, stream);
    }});
  }
  const std::vector<StepProblem> work(steps.size());
  const auto segments = BuildGraphs(&runtime, plan, work, launches);
  EXPECT_TRUE(segments.ok()) << segments.status();
  return runtime.Priorities();
}

// 0 -> 1 -> 2 -> 4 beside 0 -> 3 -> 4.
TEST(PlanGraphsTest, KernelsOfTheLongestPathGoFirst) {
  EXPECT_EQ(PrioritiesOf({{0, {}}, {0, {}}, {0, {}}, {1, {0}}, {0, {3}}}, 2),
            (Priorities{{"k0", -1}, {"k1", -1}, {"k2", -1}, {"k3", 0}, {"k4", -1}}));
}

TEST(PlanGraphsTest, PathsOfOneLengthAreEqual) {
  EXPECT_EQ(PrioritiesOf({{0, {}}, {1, {}}, {0, {}}, {1, {}}}, 2),
            (Priorities{{"k0", -1}, {"k1", -1}, {"k2", -1}, {"k3", -1}}));
}

TEST(PlanGraphsTest, OneStreamHasNoneToPrefer) {
  EXPECT_EQ(PrioritiesOf({{0, {}}, {0, {}}}, 1), (Priorities{{"k0", 0}, {"k1", 0}}));
}

}  // namespace
}  // namespace plait::cuda
