#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// Norms, and softmaxes and reductions along axes that are not the last ones.
struct RowsCase {
  const char* name;
  const char* graph;
  RowsProblem wanted;  // of the largest kernel
};

const RowsCase kRowsCases[] = {
    {"RmsNorm",
     R"(graph {
  input %x: float32[2,5,24]
  const %w: float32[24] = synthetic 1
  %y = RMSNormalization(%x, %w) {axis=-1, epsilon=0.001}
  output %y
})",
     {.kind = RowsProblem::Kind::kRmsNorm, .rows = 10, .columns = 24, .epsilon = 0.001F}},
    {"RmsNormOfASum",
     R"(graph {
  input %x: float32[2,5,24]
  input %r: float32[2,5,24]
  const %w: float32[5,24] = synthetic 1
  %s = Add(%x, %r) {}
  %y = RMSNormalization(%s, %w) {axis=1, epsilon=0.001}
  output %y
})",
     {.kind = RowsProblem::Kind::kRmsNorm,
      .rows = 2,
      .columns = 120,
      .residual = true,
      .epsilon = 0.001F}},
    {"InstanceNorm",
     R"(graph {
  input %x: float32[2,3,4,5]
  const %w: float32[3] = synthetic 1
  const %b: float32[3] = synthetic 2
  %y = InstanceNormalization(%x, %w, %b) {epsilon=0.01}
  output %y
})",
     {.kind = RowsProblem::Kind::kInstanceNorm,
      .rows = 6,
      .columns = 20,
      .channels = 3,
      .epsilon = 0.01F}},
    {"SoftmaxOfAMiddleAxis",
     R"(graph {
  input %x: float32[2,4,6,5]
  %y = Softmax(%x) {axis=2}
  output %y
})",
     {.kind = RowsProblem::Kind::kSoftmax, .rows = 40, .columns = 6, .inner = 5}},
    {"SumOfMiddleAxes",
     R"(graph {
  input %x: float32[2,4,6,5]
  const %axes: int64[2] = [1,2]
  %y = ReduceSum(%x, %axes) {keepdims=0}
  output %y
})",
     {.kind = RowsProblem::Kind::kReduceSum, .rows = 10, .columns = 24, .inner = 5}},
    {"LargestOfTheFirstAxis",
     R"(graph {
  input %x: float32[7,30]
  const %axes: int64[1] = [0]
  %y = ReduceMax(%x, %axes) {keepdims=1}
  output %y
})",
     {.kind = RowsProblem::Kind::kReduceMax, .rows = 30, .columns = 7, .inner = 30}},
};

class RowsProblemTest : public testing::TestWithParam<RowsCase> {};

TEST_P(RowsProblemTest, IsWhatItsNodesSay) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<Kernel> found;
  for (Kernel& kernel : CudaCatalog({}).KernelsAt(*graph, 0, true)) {
    if (kernel.family == "rows") found.push_back(std::move(kernel));
  }
  ASSERT_FALSE(found.empty());
  const Kernel& kernel = found.back();
  EXPECT_EQ(static_cast<int>(kernel.nodes.size()), graph->node_count());
  const absl::StatusOr<ProblemCheck> check = CheckKernelProblemIn(*graph, kernel, 7, 1000000);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_LE(check->relative_l2, 1e-6);
  RowsProblem problem = std::get<RowsProblem>(check->problem.problem);
  if (!problem.normalizes()) problem.epsilon = GetParam().wanted.epsilon;
  EXPECT_TRUE(problem == GetParam().wanted)
      << "rows " << problem.rows << " columns " << problem.columns << " inner " << problem.inner;
}

INSTANTIATE_TEST_SUITE_P(Graphs, RowsProblemTest, testing::ValuesIn(kRowsCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Between the axes that are summed lies one that is not.
TEST(OtherRowsTest, AxesApartHaveNone) {
  const Graph graph = *ParseTypedGraph(R"(graph {
  input %x: float32[2,4,6,5]
  const %axes: int64[2] = [1,3]
  %y = ReduceSum(%x, %axes) {keepdims=0}
  output %y
})");
  for (const Kernel& kernel : CudaCatalog({}).KernelsAt(graph, 0, true)) {
    EXPECT_NE(kernel.family, "rows");
  }
}

}  // namespace
}  // namespace plait::cuda
