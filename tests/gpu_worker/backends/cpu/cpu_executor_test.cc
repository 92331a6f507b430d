#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/processor.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/fakes/planned_graph.h"
#include "tests/gpu_worker/backends/cpu/cpu_executor_fixture.h"
#include "tests/gpu_worker/executor/simple_plan.h"

namespace plait {
namespace {

using testing::HasSubstr;

TEST_F(CpuExecutorTest, DescribesItsDeviceInItsFingerprint) {
  const DeviceDescription& device = executor_->device();
  EXPECT_EQ(device.backend, "cpu");
  EXPECT_GE(device.threads, 1);
  EXPECT_GT(device.memory_bytes, 0);
  EXPECT_THAT(device.fingerprint, HasSubstr(absl::StrReplaceAll(device.name, {{" ", "_"}})));
  EXPECT_THAT(device.fingerprint, HasSubstr(ProcessorId(DescribeProcessor())));
  EXPECT_THAT(device.fingerprint, HasSubstr(device.instruction_set));
  EXPECT_THAT(device.fingerprint, HasSubstr(absl::StrCat("threads=", device.threads)));
  EXPECT_THAT(device.fingerprint, HasSubstr("onednn="));
}

TEST_F(CpuExecutorTest, RunsAPlanInOrder) {
  const Graph graph = Ladder(3);
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {.threads = executor_->device().threads}), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ((*executable)->fallback_nodes(), 0);
  ExpectEqualsReference(graph, executable->get(), 2);
}

TEST_F(CpuExecutorTest, StreamsWaitForEachOther) {
  const Graph graph = Ladder(12);
  // Three streams: more than a small machine has lanes, so that streams share one.
  const SimplePlanOptions options{.streams = 3, .stream_of = [](NodeId node) { return node % 3; }};
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, options), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  ExpectEqualsReference(graph, executable->get(), 50);
}

TEST_F(CpuExecutorTest, TimesAsManyRunsAsAsked) {
  const Graph graph = Ladder(1);
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {}), NoWeights());
  ASSERT_TRUE(executable.ok());
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1);
  ASSERT_TRUE((*executable)->SetInputs(*inputs).ok());
  (*executable)->EvictCaches();
  const absl::StatusOr<std::vector<double>> samples = (*executable)->Time(4);
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(samples->size(), 4u);
  for (const double sample : *samples) EXPECT_GT(sample, 0);
}

TEST_F(CpuExecutorTest, RunsBuffersThatShareBytesOneAfterAnother) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[4,64]
  %a = Tanh(%x)
  %b = Neg(%a)
  %c = Abs(%b)
  %d = Exp(%c)
  output %d
})");
  Plan plan = PlanOf(graph, {});
  // a, b and c take two places in turn.
  ASSERT_EQ(plan.arena_bytes, 3 * 1024);
  plan.values[3].buffer.offset_bytes = 0;
  plan.arena_bytes = 2 * 1024;
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, plan, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  ExpectEqualsReference(graph, executable->get(), 2);
}

TEST_F(CpuExecutorTest, ViewsShareTheirInputsBytes) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[4,6]
  const %shape: int64[3] = [2,3,4]
  %a = Tanh(%x)
  %v = Reshape(%a, %shape)
  %y = Neg(%v)
  output %y
})");
  Plan plan = PlanOf(graph, {});
  plan.values[2].alias_of = 1;
  plan.values[2].buffer = plan.values[1].buffer;
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, plan, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  ExpectEqualsReference(graph, executable->get(), 2);
}

// A kernel over all nodes, from and to any format in which a plan may ask for it: it is refused, or
// moves every element to its place. The number of pairs that are not refused.
int PairsMoved(const std::string& type, const std::string& nodes, Executor& executor) {
  const Graph graph =
      ParseTyped(absl::StrCat("graph {\n  input %x: ", type, "[2,6,4,5]\n", nodes, "}\n"));
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, *inputs, NoWeights());
  EXPECT_TRUE(expected.ok()) << expected.status();
  int moved = 0;
  for (const Format from : kAllFormats) {
    for (const Format to : kAllFormats) {
      Kernel kernel{.family = "transpose", .input_formats = {from}, .output_formats = {to}};
      for (NodeId node = 0; node < graph.node_count(); ++node) kernel.nodes.push_back(node);
      const auto executable = executor.LoadKernel(graph, kernel, NoWeights());
      if (!executable.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(executable.status())) << executable.status();
        continue;
      }
      const absl::StatusOr<std::vector<Tensor>> outputs = (*executable)->Run(*inputs);
      EXPECT_TRUE(outputs.ok()) << outputs.status();
      if (outputs.ok()) {
        EXPECT_EQ(*outputs, *expected) << nodes << FormatName(from) << " " << FormatName(to);
      }
      ++moved;
    }
  }
  return moved;
}

// Offered are rows alone, but plans come from anywhere.
TEST_F(CpuExecutorTest, TransposesWhatLiesInAnyFormat) {
  std::vector<int> permutation = {0, 1, 2, 3};
  do {
    const std::string transpose = absl::StrCat(
        "  %y = Transpose(%x) {perm=[", absl::StrJoin(permutation, ","), "]}\n  output %y\n");
    for (const char* type : {"float32", "uint8"}) {
      EXPECT_EQ(PairsMoved(type, transpose, *executor_), 4);
    }
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST_F(CpuExecutorTest, TransposesBetweenReshapesInAnyFormat) {
  const std::string shuffle =
      "  const %apart: int64[5] = [2,2,3,4,5]\n"
      "  const %together: int64[4] = [2,6,4,5]\n"
      "  %r = Reshape(%x, %apart)\n"
      "  %t = Transpose(%r) {perm=[0,2,1,3,4]}\n"
      "  %y = Reshape(%t, %together)\n"
      "  output %y\n";
  for (const char* type : {"float32", "uint8"}) {
    EXPECT_EQ(PairsMoved(type, shuffle, *executor_), 4);
  }
  // The pixels of channels-last are mixed with channels at once: that takes more than one pass.
  const std::string mixed =
      "  const %apart: int64[2] = [20,12]\n"
      "  const %together: int64[4] = [2,6,4,5]\n"
      "  %r = Reshape(%x, %apart)\n"
      "  %t = Transpose(%r)\n"
      "  %y = Reshape(%t, %together)\n"
      "  output %y\n";
  EXPECT_EQ(PairsMoved("float32", mixed, *executor_), 2);
}

TEST_F(CpuExecutorTest, ReturnsOutputsThatAreInputsOrConstants) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[3]
  const %c: float32[2] = [1.5, -2.0]
  %y = Neg(%x)
  output %x, %c, %y
})");
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {}), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  const Tensor input = Tensor::Of<float>({3}, {1.0f, 2.0f, -3.0f});
  const absl::StatusOr<std::vector<Tensor>> outputs = (*executable)->Run({input});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0], input);
  EXPECT_EQ((*outputs)[1], Tensor::Of<float>({2}, {1.5f, -2.0f}));
  EXPECT_EQ((*outputs)[2], Tensor::Of<float>({3}, {-1.0f, -2.0f, 3.0f}));
}

// Its channels-last copy is for the convolution alone.
TEST_F(CpuExecutorTest, ReturnsAnInputOfWhichAStepMakesACopy) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1,32,8,8]
  const %w: float32[32,32,3,3] = synthetic 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}
  %y = Conv(%c, %w) {pads=[1,1,1,1]}
  output %x, %y
})");
  FakeProfiler profiler;
  profiler.channels_last_factor = 0.1;
  for (const Plan& plan : PlansOf(graph, *catalog_, executor_->device(), profiler)) {
    const absl::StatusOr<std::unique_ptr<Executable>> executable =
        executor_->Load(graph, plan, NoWeights());
    ASSERT_TRUE(executable.ok()) << executable.status();
    ExpectEqualsReference(graph, executable->get(), 2);
  }
}

TEST_F(CpuExecutorTest, CountsNodesThatRunAsReferenceCode) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[3,4]
  const %two: float32[] = [2.0]
  %y = Mod(%x, %two) {fmod=1}
  %z = Neg(%y)
  output %z
})");
  const Plan plan = PlanOf(graph, {});
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, plan, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ((*executable)->fallback_nodes(), 1);
  // As a report has them, which knows the plan alone.
  EXPECT_TRUE(catalog_->IsFallback(plan.steps[0].kernel));
  EXPECT_FALSE(catalog_->IsFallback(plan.steps[1].kernel));
  ExpectEqualsReference(graph, executable->get(), 2);
}

TEST_F(CpuExecutorTest, PoolsWhosePlacesNobodyReadsAreNoReferenceCode) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1,5,8,8]
  %y, %places = MaxPool(%x) {kernel_shape=[2,2]}
  output %y
})");
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {}), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ((*executable)->fallback_nodes(), 0);
  ExpectEqualsReference(graph, executable->get(), 2);
}

TEST(OnednnStatusTest, WhatTheLibraryRefusesIsAnAnswerAndNoFault) {
  EXPECT_TRUE(absl::IsUnimplemented(OnednnStatus(dnnl_invalid_arguments, "a product")));
  EXPECT_TRUE(absl::IsUnimplemented(OnednnStatus(dnnl_unimplemented, "a product")));
  EXPECT_TRUE(absl::IsResourceExhausted(OnednnStatus(dnnl_out_of_memory, "a product")));
  EXPECT_TRUE(absl::IsInternal(OnednnStatus(dnnl_runtime_error, "a product")));
}

// Rows of 49 taps for each pixel would be more than the kernel has room for at once.
TEST_F(CpuExecutorTest, LoadsWhatIsOfferedForALargeWindow) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1,128,112,112]
  const %w: float32[64,128,7,7] = synthetic 1
  %y = Conv(%x, %w) {kernel_shape=[7,7], pads=[3,3,3,3]}
  output %y
})");
  for (const Kernel& kernel : catalog_->KernelsAt(graph, 0, false)) {
    const absl::Status status = executor_->LoadKernel(graph, kernel, NoWeights()).status();
    EXPECT_TRUE(status.ok()) << kernel.family << " " << kernel.variant << ": " << status;
  }
}

// What kernels write would not fit into fewer bits than their tensors have.
TEST_F(CpuExecutorTest, RefusesFormatsOfOtherBackends) {
  const Graph graph = ParseTyped("graph {\n  input %x: float32[2,6,4,5]\n  output %x\n}");
  for (const Format to : {Format::kChannelsLast, Format::kF16, Format::kBf16ChannelsLast}) {
    const Kernel reorder = {
        .family = "reorder", .input_formats = {Format::kPlain}, .output_formats = {to}};
    const absl::Status status = executor_->LoadKernel(graph, reorder, NoWeights()).status();
    if (to == Format::kChannelsLast) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(absl::StrCat("no format ", FormatName(to), ", in which %x")));
    }
  }
}

TEST(OpenExecutorTest, NamesTheBackendsThereAre) {
  const absl::Status status = OpenExecutor("abacus:1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cpu, reference"));
}

TEST(OpenExecutorTest, GrantsNoMoreThreadsThanAsked) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", {.threads = 1});
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ((*executor)->device().threads, 1);
}

TEST(ReferenceExecutorTest, RunsPlansOfItsCatalog) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("reference");
  ASSERT_TRUE(executor.ok());
  const absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor((*executor)->device());
  ASSERT_TRUE(catalog.ok());
  const Graph graph = Ladder(2);
  const absl::StatusOr<std::unique_ptr<Executable>> executable = (*executor)->Load(
      graph, SimplePlan(graph, (*executor)->device(), **catalog, {}), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ((*executable)->fallback_nodes(), 0);
  ExpectEqualsReference(graph, executable->get(), 1);
}

}  // namespace
}  // namespace plait
