#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "tests/gpu_worker/backends/cuda/run/simulated_executor.h"

// Plans in which what is concatenated is written where the result has it.

namespace plait::cuda {
namespace {

constexpr char kDenseBlock[] = R"(graph {
  input %x: float32[2,16,4,5]
  %a = Relu(%x)
  %b = Neg(%a)
  %c = Concat(%a, %b) {axis=1}
  %d = Tanh(%c)
  %e = Concat(%a, %b, %d, %x) {axis=1}
  %y = Neg(%e)
  output %y
})";

// Steps: the input's reorder, and the nodes as the text has them.
enum BlockStep : int { kA = 1, kB, kC, kD, kE };

class PartsTest : public SimulatedExecutorTest {
 protected:
  // The block's plan on four streams, with these of its values as parts of the last Concat's result
  // from the channels named on.
  Plan BlockIn(const std::vector<std::pair<BlockStep, int64_t>>& parts) const {
    Plan plan = PlanOf(graph_, {.streams = 4,
                                .format = Format::kChannelsLast,
                                .stream_of = [](NodeId node) { return node % 4; }});
    const int whole = plan.steps[kE].outputs[0];
    for (const auto& [step, channel] : parts) {
      Value& part = plan.values[plan.steps[step].outputs[0]];
      part.alias_of = whole;
      part.first_channel = channel;
      part.buffer = plan.values[whole].buffer;
    }
    return WithFirst(plan, whole);
  }

  // The plan with that value before all others, as wholes are.
  static Plan WithFirst(Plan plan, int value) {
    const auto moved = [&](int other) {
      return other == value ? 0 : other < value ? other + 1 : other;
    };
    for (Step& step : plan.steps) {
      for (int& input : step.inputs) input = moved(input);
      for (int& output : step.outputs) output = moved(output);
    }
    for (Value& other : plan.values) {
      if (other.alias_of >= 0) other.alias_of = moved(other.alias_of);
    }
    std::rotate(plan.values.begin(), plan.values.begin() + value, plan.values.begin() + value + 1);
    return plan;
  }

  void ExpectRight(const Plan& plan) {
    ASSERT_EQ(CheckPlan(plan, graph_), absl::OkStatus());
    const auto executable = Load(graph_, plan);
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      driver_.SetSeed(seed);
      ExpectEqualsReference(graph_, executable.get(), /*runs=*/1);
    }
  }

  const plait::Graph graph_ = Parse(kDenseBlock);
};

TEST_F(PartsTest, AConcatCopiesWhatLiesElsewhere) {
  const Plan plan = BlockIn({{kA, 0}, {kB, 16}, {kC, 0}});
  ExpectRight(plan);
  EXPECT_EQ(StepProblemOf(graph_, plan, plan.steps[kC])->kind, StepProblem::Kind::kNothing);
  const absl::StatusOr<StepProblem> copies = StepProblemOf(graph_, plan, plan.steps[kE]);
  ASSERT_TRUE(copies.ok()) << copies.status();
  const auto& copy = std::get<MovementProblem>(copies->problem.problem);
  EXPECT_EQ(copy.kind, MovementProblem::Kind::kCopy);
  EXPECT_EQ(copy.inputs, (std::vector<std::vector<int64_t>>{{2, 32, 4, 5}, {2, 16, 4, 5}}));
  EXPECT_EQ(copies->output_offsets, (std::vector<int64_t>{32, 64}));
  EXPECT_EQ(copies->places.pitches.output(1), (PixelPitch{.channels = 16, .pitch = 80}));
}

TEST_F(PartsTest, EvenWhereAllLieThereAnInputIsCopied) {
  ExpectRight(BlockIn({{kA, 0}, {kB, 16}, {kC, 0}, {kD, 32}}));
}

TEST_F(PartsTest, AWholeConcatWritesAPart) { ExpectRight(BlockIn({{kD, 32}})); }

TEST_F(PartsTest, WhatStepsReadIsShownAsItIs) {
  const Plan plan = BlockIn({{kA, 0}, {kB, 16}, {kC, 0}});
  const auto executable = Load(graph_, plan);
  const std::vector<Tensor> inputs = InputsFor(graph_);
  const auto expected =
      EvaluateGraph(Parse(absl::StrReplaceAll(kDenseBlock, {{"output %y", "output %a, %c"}})),
                    inputs, NoWeights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  const int steps[] = {kB, kD};
  const absl::Status observed =
      executable->RunObserved(inputs, steps, [&](int step, absl::Span<const Tensor> read) {
        EXPECT_EQ(read[0], (*expected)[step == kB ? 0 : 1]) << step;
        return absl::OkStatus();
      });
  EXPECT_EQ(observed, absl::OkStatus());
}

// The host, a view, and a reorder know no parts.
TEST_F(PartsTest, WhoTakesNoPartsRefusesThem) {
  Plan plan = BlockIn({{kD, 32}});
  plan.steps[kD].kernel.family = "other";
  plan.steps[kD].kernel.variant = "";
  EXPECT_EQ(StepProblemOf(graph_, plan, plan.steps[kD]).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace plait::cuda
