#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/simulated_device.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "tests/gpu_worker/backends/cuda/run/simulated_executor.h"

namespace plait::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using CudaExecutorTest = SimulatedExecutorTest;

// Branches that meet again, several times, so that streams have something to wait for.
plait::Graph Ladder(int rungs) {
  std::string text =
      "graph {\n"
      "  input %a0: float32[2,6,40]\n"
      "  const %w: float32[40] = synthetic 1\n"
      "  %b0 = Neg(%a0)\n";
  for (int i = 0; i < rungs; ++i) {
    absl::StrAppend(&text, "  %c", i, " = LayerNormalization(%a", i, ", %w) {axis=-1}\n",  //
                    "  %d", i, " = Tanh(%b", i, ")\n",                                     //
                    "  %a", i + 1, " = Add(%c", i, ", %d", i, ")\n",                       //
                    "  %s", i, " = Softmax(%d", i, ") {axis=-1}\n",                        //
                    "  %b", i + 1, " = Mul(%s", i, ", %c", i, ")\n");
  }
  absl::StrAppend(&text, "  output %a", rungs, ", %b", rungs, "\n}\n");
  absl::StatusOr<plait::Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : plait::Graph();
}

SimplePlanOptions OnStreams(int streams) {
  return {.streams = streams, .stream_of = [streams](NodeId node) { return node % streams; }};
}

TEST_F(CudaExecutorTest, SaysThatItIsSimulated) {
  const DeviceDescription& device = executor_->device();
  EXPECT_EQ(device.id, "cuda:0");
  EXPECT_EQ(device.backend, "cuda");
  EXPECT_EQ(device.instruction_set, "sm_90");
  EXPECT_EQ(device.threads, 132);
  EXPECT_GT(device.memory_bytes, 0);
  EXPECT_TRUE(IsSimulatedFingerprint(device.fingerprint)) << device.fingerprint;
  EXPECT_THAT(device.fingerprint, AllOf(HasSubstr("cuda;_simulated_sm_90;_sm_90;_sms=132"),
                                        HasSubstr("driver=13000"), HasSubstr("nvrtc=13")));
}

TEST_F(CudaExecutorTest, RunsAPlanInOrder) {
  const plait::Graph graph = Ladder(2);
  const auto executable = Load(graph, PlanOf(graph));
  ExpectEqualsReference(graph, executable.get(), 4);
  EXPECT_EQ(executable->fallback_nodes(), 0);
}

TEST_F(CudaExecutorTest, RunsOnAnotherArchitecture) {
  Open(1);
  EXPECT_EQ(executor_->device().instruction_set, "sm_80");
  const plait::Graph graph = Ladder(1);
  ExpectEqualsReference(graph, Load(graph, PlanOf(graph)).get());
}

// Each seed is another linear extension of the graph's order, with the blocks of ready kernels
// mixed; the driver proves for each that what touches the same bytes is ordered.
TEST_F(CudaExecutorTest, EveryOrderOfAGraphGivesTheSameBits) {
  const plait::Graph graph = Ladder(4);
  const auto executable = Load(graph, PlanOf(graph, OnStreams(3)));
  ASSERT_NE(executable, nullptr);
  ExpectEqualsReference(graph, executable.get());
  const std::vector<Tensor> inputs = InputsFor(graph);
  const auto first = executable->Run(inputs);
  ASSERT_TRUE(first.ok()) << first.status();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    driver_.SetSeed(seed);
    const auto again = executable->Run(inputs);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.status();
    ASSERT_EQ(*again, *first) << "seed " << seed;
  }
}

// Schedules of the same kernels are different graphs: order within a stream is an edge.
TEST_F(CudaExecutorTest, StreamsMakeEdges) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[64]
  %a = Neg(%x)
  %b = Abs(%x)
  output %a, %b
})");
  const auto edges = [&](int streams) {
    driver_.TakeTrace(0);
    const auto loaded = Load(graph, PlanOf(graph, OnStreams(streams)));
    return static_cast<const CudaExecutable&>(*loaded).graph_edges();
  };
  EXPECT_EQ(edges(1), 1u);
  EXPECT_EQ(edges(2), 0u);
}

// A run launches each graph once, and neither takes nor gives memory: every such call would fail.
TEST_F(CudaExecutorTest, ARunIsOneLaunchWithoutAllocations) {
  const plait::Graph graph = Ladder(3);
  const auto executable = Load(graph, PlanOf(graph, OnStreams(2)));
  ASSERT_NE(executable, nullptr);
  const std::vector<Tensor> inputs = InputsFor(graph);
  ASSERT_TRUE(executable->Run(inputs).ok());
  for (const char* function :
       {"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemFreeHost", "cuGraphInstantiate"}) {
    driver_.faults().Add({.function = function});
  }
  const int64_t before = driver_.launches_of_graphs();
  EXPECT_TRUE(executable->Run(inputs).ok());
  EXPECT_EQ(driver_.launches_of_graphs(), before + 1);
  // The faults are still there, so nobody has made such a call.
  DriverRuntime runtime(0, &driver_.library());
  EXPECT_FALSE(runtime.Free(nullptr).ok());
  EXPECT_FALSE(runtime.FreeHost(nullptr).ok());
  EXPECT_FALSE(runtime.Allocate(1).ok());
  EXPECT_FALSE(runtime.AllocateHost(1).ok());
  EXPECT_FALSE(LoadStatus(graph, PlanOf(graph)).ok());
}

TEST_F(CudaExecutorTest, ViewsShareTheirInputsBytesOrCopyThem) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[4,6]
  const %shape: int64[3] = [2,3,4]
  %a = Tanh(%x)
  %v = Reshape(%a, %shape)
  %y = Neg(%v)
  %w = Reshape(%a, %shape)
  output %y, %w
})");
  Plan plan = PlanOf(graph);
  plan.values[2].alias_of = 1;
  plan.values[2].buffer = plan.values[1].buffer;
  const auto executable = Load(graph, plan);
  ExpectEqualsReference(graph, executable.get());
  // Two kernels and a copy; the view that shares bytes is no node.
  EXPECT_EQ(static_cast<const CudaExecutable&>(*executable).graph_nodes(), 3u);
}

TEST_F(CudaExecutorTest, ReturnsOutputsThatAreInputsOrConstants) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[3]
  const %c: float32[2] = [1.5, -2.0]
  %y = Neg(%x)
  output %x, %c, %y
})");
  const auto executable = Load(graph, PlanOf(graph));
  const Tensor input = Tensor::Of<float>({3}, {1.0f, 2.0f, -3.0f});
  const auto outputs = executable->Run({input});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0], input);
  EXPECT_EQ((*outputs)[1], Tensor::Of<float>({2}, {1.5f, -2.0f}));
  EXPECT_EQ((*outputs)[2], Tensor::Of<float>({3}, {-1.0f, -2.0f, 3.0f}));
}

// The graph is split at a node that another processor computes, which a report counts.
TEST_F(CudaExecutorTest, RunsNodesOnTheHostBetweenGraphs) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[3,4]
  input %n: int64[2]
  const %axis: int64[] = [1]
  %a = Tanh(%x)
  %y = CumSum(%a, %axis)
  %z = Neg(%y)
  %m = BitwiseNot(%n)
  output %z, %m
})");
  const Plan plan = PlanOf(graph, OnStreams(2));
  const auto executable = Load(graph, plan);
  ExpectEqualsReference(graph, executable.get());
  EXPECT_EQ(executable->fallback_nodes(), 2);
  EXPECT_EQ(FallbacksOf(plan), 2);
  EXPECT_EQ(static_cast<const CudaExecutable&>(*executable).graph_count(), 2u);
}

// A vocabulary's. No kernel of the device takes such rows.
TEST_F(CudaExecutorTest, RunsOnTheHostWhatNothingOnTheDeviceComputes) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[1,70000]
  %a = Relu(%x)
  %b = Softmax(%a) {axis=1}
  %y = Neg(%b)
  output %y
})");
  const auto executable = Load(graph, PlanOf(graph));
  ASSERT_NE(executable, nullptr);
  ExpectEqualsReference(graph, executable.get());
  EXPECT_EQ(executable->fallback_nodes(), 1);
}

// A launch for each step, between kernels that read and write what the layer does: one graph.
TEST_F(CudaExecutorTest, RunsRecurrentLayersOnTheDevice) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[5,2,12]
  input %h: float32[1,2,20]
  const %w: float32[1,80,12] = synthetic 1
  const %r: float32[1,80,20] = synthetic 2
  const %b: float32[1,160] = synthetic 3
  const %axes: int64[1] = [1]
  const %gw: float32[2,30,20] = synthetic 4
  const %gr: float32[2,30,10] = synthetic 5
  %a = Tanh(%x)
  %y, %yh, %yc = LSTM(%a, %w, %r, %b, _, %h)
  %s = Squeeze(%y, %axes)
  %z, %zh = GRU(%s, %gw, %gr) {direction="bidirectional"}
  %n = Neg(%z)
  output %n, %zh, %yh, %yc
})");
  const auto executable = Load(graph, PlanOf(graph, OnStreams(2)));
  ExpectEqualsReference(graph, executable.get());
  EXPECT_EQ(executable->fallback_nodes(), 0);
  const auto& on_device = static_cast<const CudaExecutable&>(*executable);
  EXPECT_EQ(on_device.graph_count(), 1u);
  EXPECT_GE(on_device.graph_nodes(), 2u + 5u + 2u * 5u);
  // The states of the larger layer, at least.
  EXPECT_GE(on_device.workspace_bytes(), int64_t{2} * 20 * 4);
}

TEST_F(CudaExecutorTest, RefusesAnIndexThatIsOutOfRange) {
  const plait::Graph graph = Parse(R"(graph {
  input %ids: int64[2]
  const %table: float32[3,4] = synthetic 1
  const %other: float32[3,4] = synthetic 2
  %y = Gather(%table, %ids)
  %z = Gather(%other, %ids)
  output %y, %z
})");
  const auto executable = Load(graph, PlanOf(graph));
  ASSERT_NE(executable, nullptr);
  EXPECT_TRUE(executable->Run({Tensor::Int64s({2, -3})}).ok());
  const absl::Status status = executable->Run({Tensor::Int64s({0, 3})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("index 3 at place 1"));
  EXPECT_TRUE(executable->Run({Tensor::Int64s({1, 1})}).ok());
}

TEST_F(CudaExecutorTest, ShowsWhatStepsRead) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[2]
  %a = Neg(%x)
  %y = Abs(%a)
  output %y
})");
  const auto executable = Load(graph, PlanOf(graph));
  const Tensor input = Tensor::Of<float>({2}, {1.0f, -2.0f});
  std::vector<Tensor> read;
  ASSERT_TRUE(executable
                  ->RunObserved({input}, {1},
                                [&](int step, absl::Span<const Tensor> inputs) {
                                  EXPECT_EQ(step, 1);
                                  read.assign(inputs.begin(), inputs.end());
                                  return absl::OkStatus();
                                })
                  .ok());
  EXPECT_THAT(read, testing::ElementsAre(Tensor::Of<float>({2}, {-1.0f, 2.0f})));
}

// Times of a simulated device are predictions for another one, and nothing runs for them.
TEST_F(CudaExecutorTest, PredictsTimesWithoutRunning) {
  const plait::Graph graph = Ladder(2);
  const auto executable = Load(graph, PlanOf(graph, OnStreams(2)));
  ASSERT_TRUE(executable->SetInputs(InputsFor(graph)).ok());
  const int64_t before = driver_.launches_of_graphs();
  executable->EvictCaches();
  const auto times_us = executable->Time(3);
  ASSERT_TRUE(times_us.ok()) << times_us.status();
  EXPECT_THAT(*times_us, testing::Each(testing::Eq(times_us->front())));
  const auto steps_us = executable->TimeSteps();
  ASSERT_TRUE(steps_us.ok());
  EXPECT_THAT(*steps_us, AllOf(testing::SizeIs(11), testing::Each(testing::Gt(1.0))));
  EXPECT_LT(times_us->front(), std::accumulate(steps_us->begin(), steps_us->end(), 0.0));
  EXPECT_EQ(driver_.launches_of_graphs(), before);
}

TEST_F(CudaExecutorTest, RefusesWhatIsNotThere) {
  EXPECT_EQ(DeviceIndexOf("cuda:12"), 12);
  for (const char* id : {"cuda", "cuda:", "cuda:-1", "cuda:x", "cpu"}) {
    EXPECT_EQ(DeviceIndexOf(id), std::nullopt) << id;
  }
  const auto missing =
      OpenOn(std::make_unique<DriverRuntime>(2, &driver_.library()), 2, {}, false).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr("device \"cuda:2\""), HasSubstr("there are 2 devices")));
  EXPECT_FALSE(
      OpenOn(std::make_unique<DriverRuntime>(0, &driver_.library()), 0, {.threads = 1}, false)
          .ok());
}

}  // namespace
}  // namespace plait::cuda
