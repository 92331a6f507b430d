#include <gtest/gtest.h>

#include "tests/gpu_worker/backends/cpu/cpu_executor_fixture.h"

// Kernels that compute what the reference does to the last bit, whatever the number of threads:
// updates that meet in one place keep their order, and sums are rounded once.

namespace plait {
namespace {

class ExactKernelsTest : public testing::TestWithParam<const char*>, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 0); }
};

TEST_P(ExactKernelsTest, ComputeWhatTheReferenceDoesOnAnyNumberOfThreads) {
  const Graph graph = ParseTyped(GetParam());
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, *inputs, NoWeights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  Kernel kernel = catalog_->KernelsAt(graph, 0, false).front();
  ASSERT_NE(kernel.family, "reference");
  for (kernel.width = 1; kernel.width <= executor_->device().threads; ++kernel.width) {
    const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (int run = 0; run < 3; ++run) {
      const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(*inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      for (size_t i = 0; i < expected->size(); ++i) {
        EXPECT_EQ((*actual)[i].bytes(), (*expected)[i].bytes()) << "width " << kernel.width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, ExactKernelsTest,
                         testing::Values(
                             R"(graph {
  input %x: float32[30]
  input %i: int64[5000,1]
  input %u: float32[5000]
  %y = ScatterND(%x, %i, %u) {reduction="add"}
  output %y
})",
                             R"(graph {
  input %x: float32[5,1300]
  input %i: int64[40,1]
  input %u: float32[40,1300]
  %y = ScatterND(%x, %i, %u)
  output %y
})",
                             R"(graph {
  input %x: float16[5,7,90]
  input %i: int64[40,2]
  input %u: float16[40,90]
  %y = ScatterND(%x, %i, %u) {reduction="mul"}
  output %y
})",
                             R"(graph {
  input %x: float16[30,4]
  input %i: int64[900,4]
  input %u: float16[900,4]
  %y = ScatterElements(%x, %i, %u) {reduction="add"}
  output %y
})",
                             R"(graph {
  input %x: float32[3,500,70]
  const %one: int64[] = [1]
  %y = CumSum(%x, %one)
  output %y
})",
                             R"(graph {
  input %x: float32[30,500]
  const %one: int64[] = [1]
  %y = CumProd(%x, %one) {reverse=1}
  output %y
})"));

// Nothing is written before all indices are known to be right.
TEST_F(CpuExecutorTest, RefusesATupleThatIsOutOfRange) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[3,4]
  input %i: int64[2,2]
  input %u: float32[2]
  %y = ScatterND(%x, %i, %u)
  output %y
})");
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {}), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  const Tensor x = Tensor::FromDoubles({DataType::kFloat32, {3, 4}}, std::vector<double>(12));
  const Tensor u = Tensor::Of<float>({2}, {1, 2});
  const auto run = [&](std::vector<int64_t> tuples) {
    return (*executable)->Run({x, Tensor::FromInt64s({DataType::kInt64, {2, 2}}, tuples), u});
  };
  EXPECT_TRUE(run({0, 0, -3, 3}).ok());
  EXPECT_EQ(run({0, 0, 0, 4}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({-4, 0, 0, 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plait
