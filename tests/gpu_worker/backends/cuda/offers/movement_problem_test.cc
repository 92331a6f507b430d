#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// $0: shape of the input, $1: the node, $2: constants.
constexpr char kMoved[] = R"(graph {
  input %x: float32[$0]
$2  %y = $1
  output %y
})";

std::vector<Kernel> KernelsOf(const std::string& text, const std::string& family, Graph* graph) {
  absl::StatusOr<Graph> parsed = ParseTypedGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status() << text;
  if (!parsed.ok()) return {};
  *graph = *std::move(parsed);
  std::vector<Kernel> found;
  for (Kernel& kernel : CudaCatalog({}).KernelsAt(*graph, 0, true)) {
    if (kernel.family == family) found.push_back(std::move(kernel));
  }
  return found;
}

// In every layout, beside the definition of the operator.
void ExpectRight(const std::string& text, const std::string& family, size_t kernels) {
  Graph graph;
  const std::vector<Kernel> found = KernelsOf(text, family, &graph);
  EXPECT_EQ(found.size(), kernels) << text;
  for (const Kernel& kernel : found) {
    const absl::StatusOr<ProblemCheck> check = CheckKernelProblemIn(graph, kernel, 7, 1000000000);
    ASSERT_TRUE(check.ok()) << check.status() << text;
    EXPECT_LE(check->relative_l2, 1e-6) << text;
  }
}

constexpr char kPads[] =
    "  const %p: int64[8] = [0,1,2,1,0,0,1,3]\n  const %v: float32[] = [-2.5]\n"
    "  const %two: int64[4] = [2,1,1,3]\n  const %axes: int64[2] = [-2,3]\n"
    "  const %crop: int64[8] = [0,0,-1,2,0,0,0,-3]\n";

TEST(MovementProblemTest, PadsWithAllThatThereIs) {
  for (const char* node : {"Pad(%x, %p) {}", "Pad(%x, %p, %v) {}", "Pad(%x, %p) {mode=\"edge\"}",
                           "Pad(%x, %p) {mode=\"reflect\"}", "Pad(%x, %p) {mode=\"wrap\"}",
                           "Pad(%x, %two, %v, %axes) {}",
                           "Pad(%x, %two, _, %axes) {mode=\"reflect\"}", "Pad(%x, %crop, %v) {}"}) {
    ExpectRight(absl::Substitute(kMoved, "2,3,5,7", node, kPads), "move", 2);
  }
}

TEST(MovementProblemTest, TilesAreWrapped) {
  const std::string constants =
      "  const %r: int64[4] = [1,2,3,2]\n  const %s: int64[3] = [2,1,3]\n";
  ExpectRight(absl::Substitute(kMoved, "1,3,5,7", "Tile(%x, %r) {}", constants), "move", 2);
  ExpectRight(absl::Substitute(kMoved, "2,5,8", "Tile(%x, %s) {}", constants), "move", 1);
}

TEST(MovementProblemTest, PoolsOfSequencesAreThoseOfImages) {
  for (const char* node : {"MaxPool(%x) {kernel_shape=[3], strides=[2], pads=[1,0]}",
                           "AveragePool(%x) {kernel_shape=[4], pads=[1,2], count_include_pad=1}",
                           "AveragePool(%x) {kernel_shape=[2], strides=[2]}"}) {
    ExpectRight(absl::Substitute(kMoved, "2,6,31", node, ""), "pool", 1);
  }
}

}  // namespace
}  // namespace plait::cuda
