#include "server/search_child/predicted_draws.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/simulated_device.h"
#include "optimizer/plan/plan.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

internal::Start StartOn(const std::string& id, const std::string& fingerprint, bool predicted) {
  internal::Start start;
  start.mutable_device()->set_id(id);
  start.mutable_device()->set_fingerprint(fingerprint);
  start.mutable_device()->set_predicted(predicted);
  return start;
}

// A kernel that reads a large tensor, or one that does next to nothing.
PlanCandidate OneKernel(int64_t elements, double predicted_us) {
  const Graph graph = GraphOf(absl::StrCat("graph {\n  input %x: float32[", elements,
                                           "]\n  %y = Relu(%x) {}\n  output %y\n}"));
  Plan plan;
  plan.threads = 132;
  plan.values = {{.tensor = graph.inputs()[0]}, {.tensor = graph.outputs()[0]}};
  Step step;
  step.kernel = {.family = "elementwise",
                 .variant = "strict/auto",
                 .nodes = {0},
                 .input_formats = {Format::kPlain},
                 .output_formats = {Format::kPlain}};
  step.inputs = {0};
  step.outputs = {1};
  plan.steps = {step};
  return {"one", graph, plan, predicted_us};
}

TEST(PredictedDrawsTest, ADeviceThatIsThereHasNone) {
  EXPECT_EQ(PredictedDraws(StartOn("cpu", "cpu-1", false)), nullptr);
}

TEST(PredictedDrawsTest, DrawsLieAroundWhatWasPredicted) {
  const PlanCandidate small = OneKernel(64, 10), large = OneKernel(1 << 26, 10);
  for (const internal::Start& start :
       {StartOn("model:l40s", "model;_l40s", true), StartOn("cuda:0", "cuda;_simulated", true)}) {
    const auto draws_us = PredictedDraws(start);
    ASSERT_NE(draws_us, nullptr);
    const std::vector<double> of_small = draws_us(small), of_large = draws_us(large);
    ASSERT_EQ(of_small.size(), 40u);
    EXPECT_EQ(draws_us(small), of_small);
    // Neither knows of the other's constants.
    EXPECT_NE(of_small, of_large);
    for (const std::vector<double>& draws : {of_small, of_large}) {
      const auto [least, most] = std::minmax_element(draws.begin(), draws.end());
      EXPECT_GE(*least, 10 / 1.31);
      EXPECT_LE(*most, 10 * 1.31);
      EXPECT_LT(*least, 9);
      EXPECT_GT(*most, 11);
    }
  }
}

}  // namespace
}  // namespace plait
