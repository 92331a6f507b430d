#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/plan/plan.h"
#include "tests/optimizer/plan/plan_faults.h"
#include "tests/optimizer/plan/sample_plan.h"

namespace plait {
namespace {

using testing::HasSubstr;

TEST(CheckPlanTest, AcceptsRightPlans) {
  const Graph graph = SampleGraph();
  EXPECT_EQ(CheckPlan(SamplePlan(graph), graph), absl::OkStatus());
  EXPECT_EQ(CheckPlan(ReorderingPlan(graph), graph), absl::OkStatus());
  EXPECT_EQ(CheckPlan(Plan(), Graph()), absl::OkStatus());
}

TEST(CheckPlanTest, AFullWidthStepNeedsNoWaits) {
  const Graph graph = SampleGraph();
  Plan plan = SamplePlan(graph);
  plan.steps[0].kernel.width = 2;  // after it: everything
  plan.steps[3].kernel.width = 2;  // before it: everything
  for (Step& step : plan.steps) step.waits.clear();
  EXPECT_EQ(CheckPlan(plan, graph), absl::OkStatus());
  plan.steps[0].kernel.width = 1;
  EXPECT_THAT(std::string(CheckPlan(plan, graph).message()), HasSubstr("step 2 reads %a"));
}

TEST(CheckPlanTest, WaitsAreTransitive) {
  const Graph graph = SampleGraph();
  Plan plan = SamplePlan(graph);
  plan.streams = 3;
  // Step 5 waits for step 4, which waits for all that %y is made from.
  plan.steps[5].stream = 2;
  plan.steps[5].waits = {4};
  EXPECT_EQ(CheckPlan(plan, graph), absl::OkStatus());
}

TEST(CheckPlanTest, FindsFaultsOfOrder) {
  const Graph graph = SampleGraph();
  ExpectFaultsFound(
      graph, SamplePlan(graph),
      {{"missing wait", [](Plan& p) { p.steps[2].waits = {}; }, "step 2 reads %a"},
       {"missing wait on a branch", [](Plan& p) { p.steps[3].waits = {}; }, "step 3 reads %c"},
       {"wrong wait", [](Plan& p) { p.steps[3].waits = {0}; }, "step 3 reads %c"},
       {"wait for itself", [](Plan& p) { p.steps[2].waits = {2}; }, "step 2: waits for step 2"},
       {"wait for a later step", [](Plan& p) { p.steps[2].waits = {3}; }, "not an earlier one"},
       {"negative wait", [](Plan& p) { p.steps[2].waits = {-1}; }, "not an earlier one"},
       {"reads before the write", [](Plan& p) { std::swap(p.steps[0], p.steps[1]); },
        "step 0 reads %a"}});
}

TEST(CheckPlanTest, FindsFaultsOfMemory) {
  const Graph graph = SampleGraph();
  ExpectFaultsFound(
      graph, SamplePlan(graph),
      {{"parallel branches overlap", [](Plan& p) { p.values[kValueC].buffer.offset_bytes = 1024; },
        "over the bytes of value"},
       {"parallel branches overlap in part",
        [](Plan& p) { p.values[kValueC].buffer.offset_bytes = 2048 - 64; },
        "over the bytes of value"},
       {"input overlaps output", [](Plan& p) { p.values[kValueB].buffer.offset_bytes = 0; },
        "over the bytes of value 1"},
       {"a view's reader keeps the bytes alive",
        [](Plan& p) {
          p.values[kValueD].buffer.offset_bytes = p.values[kValueE].buffer.offset_bytes = 1024;
        },
        "over the bytes of value 2"},
       {"outside the arena", [](Plan& p) { p.values[kValueC].buffer.offset_bytes = 2112; },
        "outside the arena"},
       {"negative offset", [](Plan& p) { p.values[kValueC].buffer.offset_bytes = -64; },
        "outside the arena"},
       {"overflowing offset",
        [](Plan& p) {
          p.values[kValueC].buffer.offset_bytes = std::numeric_limits<int64_t>::max() - 63;
        },
        "outside the arena"},
       {"overflowing size",
        [](Plan& p) { p.values[kValueC].buffer.size_bytes = std::numeric_limits<int64_t>::max(); },
        "outside the arena"},
       {"negative size", [](Plan& p) { p.values[kValueC].buffer.size_bytes = -1; },
        "outside the arena"},
       {"too small", [](Plan& p) { p.values[kValueC].buffer.size_bytes = 1020; },
        "needs 1024 bytes"},
       {"misaligned",
        [](Plan& p) {
          p.values[kValueC].buffer = {2047, 1024};
        },
        "no multiple"},
       {"the caller's bytes in the arena",
        [](Plan& p) { p.values[kValueY].buffer.size_bytes = 1024; }, "needs 0 bytes"},
       {"huge arena", [](Plan& p) { p.arena_bytes = kArenaBytesMax + 1; }, "the arena must have"},
       {"negative arena", [](Plan& p) { p.arena_bytes = -1; }, "the arena must have"}});
}

TEST(CheckPlanTest, WhatLiesIn16BitsTakesHalfOfTheBytes) {
  const Graph graph = SampleGraph();
  Plan plan = ReorderingPlan(graph);
  for (const int value : {7, 8}) {
    plan.values[value].format = Format::kF16ChannelsLast;
    plan.values[value].buffer.size_bytes = 512;
  }
  for (Step& step : plan.steps) {
    for (std::vector<Format>* formats : {&step.kernel.input_formats, &step.kernel.output_formats}) {
      std::replace(formats->begin(), formats->end(), Format::kChannelsLast,
                   Format::kF16ChannelsLast);
    }
  }
  EXPECT_EQ(CheckPlan(plan, graph), absl::OkStatus());
  plan.values[7].buffer.size_bytes = 510;
  EXPECT_THAT(std::string(CheckPlan(plan, graph).message()), HasSubstr("needs 512 bytes"));
}

TEST(CheckPlanTest, ReuseNeedsEveryReaderToHaveFinished) {
  // %y2 is written where %a lay, on the stream of %b, while %c may still be reading %a.
  const Graph graph = GraphOf(R"(graph {
  input %x: float32[16]
  %a: float32[16] = Relu(%x) {}
  %b: float32[16] = Neg(%a) {}
  %c: float32[16] = Abs(%a) {}
  %d: float32[16] = Exp(%b) {}
  %y: float32[16] = Add(%c, %d) {}
  output %y
}
)");
  Plan plan;
  plan.threads = 2;
  plan.streams = 2;
  plan.arena_bytes = 256;
  const auto value = [&](absl::string_view name, int64_t offset, int64_t size) {
    plan.values.push_back({TensorNamed(graph, name), Format::kPlain, {offset, size}, -1});
  };
  value("x", 0, 0);
  value("a", 0, 64);
  value("b", 64, 64);
  value("c", 128, 64);
  value("d", 0, 64);
  value("y", 0, 0);
  plan.steps = {StepOf(0, 0, {0}, 1, {}), StepOf(1, 0, {1}, 2, {}), StepOf(2, 1, {1}, 3, {0}),
                StepOf(3, 0, {2}, 4, {2}), StepOf(4, 0, {3, 4}, 5, {2})};
  ExpectFaultsFound(graph, plan,
                    {{"no wait for the other reader", [](Plan& p) { p.steps[3].waits = {}; },
                      "step 3 writes value 4 over the bytes of value 1, which step 2 may still"}});
  plan.steps[3].waits = {};
  plan.values[4].buffer.offset_bytes = 192;
  EXPECT_EQ(CheckPlan(plan, graph), absl::OkStatus());
}

TEST(CheckPlanTest, FindsFaultsOfNodesAndOutputs) {
  const Graph graph = SampleGraph();
  ExpectFaultsFound(
      graph, SamplePlan(graph),
      {{"node missing", [](Plan& p) { p.steps.pop_back(); }, "no step runs node 5"},
       {"node run twice", [](Plan& p) { p.steps[2].kernel.nodes = {1}; },
        "runs node 1, which step 1 runs too"},
       {"node that does not exist", [](Plan& p) { p.steps[2].kernel.nodes = {6}; },
        "has no node 6"},
       {"nodes out of order",
        [](Plan& p) {
          p.steps[0].kernel.nodes = {1, 0};
        },
        "ascending"},
       {"nodes repeated",
        [](Plan& p) {
          p.steps[0].kernel.nodes = {0, 0};
        },
        "ascending"},
       {"output not produced",
        [](Plan& p) {
          p.steps[5].outputs.clear();
          p.steps[5].kernel.output_formats.clear();
        },
        "its kernel has 1 outputs"},
       {"output in another place", [](Plan& p) { p.steps[5].outputs = {kValueC}; },
        "which step 2 writes too"},
       {"input missing", [](Plan& p) { p.steps[3].inputs.pop_back(); }, "its kernel has 2 inputs"},
       {"inputs exchanged", [](Plan& p) { std::swap(p.steps[3].inputs[0], p.steps[3].inputs[1]); },
        "input 0 is %c, must be %b"},
       {"writes a graph input", [](Plan& p) { p.steps[0].outputs = {kValueX}; },
        "writes graph input %x"},
       {"value that does not exist", [](Plan& p) { p.steps[0].inputs = {7}; }, "no value 7"},
       {"negative value", [](Plan& p) { p.steps[0].outputs = {-1}; }, "no value -1"},
       {"value nobody writes",
        [&](Plan& p) {
          p.values.push_back({TensorNamed(graph, "a"), Format::kChannelsLast, {0, 1024}, -1});
        },
        "no step writes %a in format channels_last"},
       {"tensor that does not exist", [](Plan& p) { p.values[kValueC].tensor = 99; },
        "no tensor 99"},
       {"tensor twice", [](Plan& p) { p.values[kValueC].tensor = p.values[kValueB].tensor; },
        "two values"},
       {"constant", [&](Plan& p) { p.values[kValueC].tensor = TensorNamed(graph, "shape"); },
        "is a constant"}});
}

TEST(CheckPlanTest, FindsFaultsOfWidths) {
  const Graph graph = SampleGraph();
  ExpectFaultsFound(
      graph, SamplePlan(graph),
      {{"stream", [](Plan& p) { p.steps[2].stream = 2; }, "stream 2 of 2"},
       {"negative stream", [](Plan& p) { p.steps[2].stream = -1; }, "stream -1"},
       {"width", [](Plan& p) { p.steps[2].kernel.width = 3; }, "width must be from 1 to 2"},
       {"no width", [](Plan& p) { p.steps[2].kernel.width = 0; }, "width must be"},
       {"plan without threads", [](Plan& p) { p.threads = 0; }, "threads must be"},
       {"too many streams", [](Plan& p) { p.streams = kPlanStreamsMax + 1; }, "streams must be"},
       {"no streams", [](Plan& p) { p.streams = 0; }, "streams must be"}});
}

TEST(CheckPlanTest, FindsFaultsOfAliases) {
  const Graph graph = SampleGraph();
  ExpectFaultsFound(
      graph, SamplePlan(graph),
      {{"of itself", [](Plan& p) { p.values[kValueE].alias_of = kValueE; }, "an earlier value"},
       {"of a later value", [](Plan& p) { p.values[kValueE].alias_of = kValueY; },
        "an earlier value"},
       {"negative", [](Plan& p) { p.values[kValueE].alias_of = -2; }, "an earlier value"},
       {"of what its step does not read", [](Plan& p) { p.values[kValueE].alias_of = kValueC; },
        "which step 4 does not read"},
       {"of no view",
        [](Plan& p) {
          p.values[kValueB].alias_of = kValueA;
          p.values[kValueB].buffer = p.values[kValueA].buffer;
        },
        "behind step 1"},
       {"elsewhere", [](Plan& p) { p.values[kValueE].buffer.offset_bytes = 2048; },
        "must lie where its alias lies"},
       {"of the caller's", [](Plan& p) { p.values[kValueY].alias_of = kValueE; },
        "cannot be an alias"}});
}

TEST(CheckPlanTest, FindsFaultsOfFormatsAndReorders) {
  const Graph graph = SampleGraph();
  ExpectFaultsFound(
      graph, ReorderingPlan(graph),
      {{"reorder left out",
        [](Plan& p) {
          p.steps[3].inputs = {kValueA};
          p.steps[3].waits = {0};
        },
        "input 0 is plain, its kernel wants channels_last"},
       {"reorder of another tensor", [](Plan& p) { p.steps[2].inputs = {kValueX}; },
        "output 0 is %a, must be %x"},
       {"reorder with two inputs",
        [](Plan& p) {
          p.steps[2].inputs = {kValueA, kValueA};
        },
        "a reorder has one input"},
       {"reorder with a wrong format",
        [](Plan& p) { p.steps[2].kernel.output_formats = {Format::kPlain}; },
        "its kernel wants plain"},
       {"format of rank 2", [](Plan& p) { p.values[kValueE].format = Format::kChannelsLast; },
        "cannot lie in channels_last"},
       {"formats missing", [](Plan& p) { p.steps[3].kernel.input_formats.clear(); },
        "and 0 formats"},
       {"reorder over its input", [](Plan& p) { p.values[7].buffer.offset_bytes = 0; },
        "over the bytes of value 1"},
       {"output only in channels_last",
        [](Plan& p) {
          p.steps[4].waits = {};
          p.steps[5].waits = {3};
        },
        "step 5 reads %c"}});
}

}  // namespace
}  // namespace plait
