#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// BERT's: heads lie in the rows of products, a mask repeats along heads and queries.
constexpr char kOfRows[] = R"(graph {
  input %q: float32[2,5,12]
  input %k: float32[2,7,12]
  input %v: float32[2,7,12]
  input %mask: float32[2,1,1,7]
  const %heads: int64[4] = [0,0,3,4]
  const %rows: int64[3] = [0,0,12]
  const %scale: float32[] = [0.5]
  %q0 = Reshape(%q, %heads) {}
  %q1 = Transpose(%q0) {perm=[0,2,1,3]}
  %k0 = Reshape(%k, %heads) {}
  %k1 = Transpose(%k0) {perm=[0,2,3,1]}
  %v0 = Reshape(%v, %heads) {}
  %v1 = Transpose(%v0) {perm=[0,2,1,3]}
  %scores = MatMul(%q1, %k1) {}
  %scaled = Mul(%scores, %scale) {}
  %masked = Add(%scaled, %mask) {}
  %weights = Softmax(%masked) {axis=-1}
  %mixed = MatMul(%weights, %v1) {}
  %y0 = Transpose(%mixed) {perm=[0,2,1,3]}
  %y = Reshape(%y0, %rows) {}
  output %y
})";

// Queries, keys and values beside each other in the rows of one product.
constexpr char kOfOneTensor[] = R"(graph {
  input %x: float32[1,6,24]
  const %heads: int64[4] = [1,6,2,4]
  %q, %k, %v = Split(%x) {axis=2, num_outputs=3}
  %q0 = Reshape(%q, %heads) {}
  %q1 = Transpose(%q0) {perm=[0,2,1,3]}
  %k0 = Reshape(%k, %heads) {}
  %k1 = Transpose(%k0) {perm=[0,2,3,1]}
  %v0 = Reshape(%v, %heads) {}
  %v1 = Transpose(%v0) {perm=[0,2,1,3]}
  %scores = MatMul(%q1, %k1) {}
  %weights = Softmax(%scores) {axis=-1}
  %mixed = MatMul(%weights, %v1) {}
  output %mixed
})";

// The only kernel of the whole attention.
absl::StatusOr<Kernel> AttentionIn(const Graph& graph) {
  const CudaCatalog catalog({.tf32 = true});
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog.KernelsAt(graph, node, true)) {
      if (kernel.family == "attention") return kernel;
    }
  }
  return absl::NotFoundError("no attention");
}

TEST(AttentionProblemTest, ReadsHeadsWhereTheyLie) {
  const Graph graph = *ParseTypedGraph(kOfRows);
  const absl::StatusOr<Kernel> kernel = AttentionIn(graph);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->nodes.size(), static_cast<size_t>(graph.node_count()));
  const absl::StatusOr<ProblemCheck> check = CheckKernelProblemIn(graph, *kernel, 3, 1000000);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_LE(check->relative_l2, 1e-5);
  const auto& attention = std::get<AttentionProblem>(check->problem.problem);
  EXPECT_EQ(attention.heads, 3);
  EXPECT_EQ(attention.scale, 0.5f);
  EXPECT_TRUE(attention.mask && attention.mask_batch);
  EXPECT_FALSE(attention.mask_heads || attention.mask_query);
  EXPECT_EQ(attention.query_strides, AttentionProblem::Strides({60, 4, 12, 1}));
  EXPECT_EQ(attention.result_strides, AttentionProblem::Strides({60, 4, 12, 1}));
}

TEST(AttentionProblemTest, ReadsQueriesKeysAndValuesOfOneTensor) {
  const Graph graph = *ParseTypedGraph(kOfOneTensor);
  const absl::StatusOr<Kernel> kernel = AttentionIn(graph);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const absl::StatusOr<ProblemCheck> check = CheckKernelProblemIn(graph, *kernel, 3, 1000000);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_LE(check->relative_l2, 1e-5);
  EXPECT_EQ(check->problem.inputs[1].offset, 8);
  EXPECT_EQ(check->problem.inputs[2].offset, 16);
}

// Import writes these with masks; the text of a graph may hold them all the same.
TEST(AttentionProblemTest, LeavesWhatHidesSomeKeysFromSomeQueries) {
  const auto kernel = [](const std::string& attributes) {
    return AttentionIn(*ParseTypedGraph(R"(graph {
  input %q: float32[1,2,6,4]
  input %k: float32[1,2,6,4]
  input %v: float32[1,2,6,4]
  %y = Attention(%q, %k, %v) {)" + attributes +
                                        "}\n  output %y\n}"));
  };
  EXPECT_TRUE(kernel("").ok());
  EXPECT_FALSE(kernel("is_causal=1").ok());
  EXPECT_FALSE(kernel("left_window_size=2").ok());
  EXPECT_FALSE(kernel("right_window_size=2").ok());
  EXPECT_FALSE(kernel("softcap=2.0").ok());
}

}  // namespace
}  // namespace plait::cuda
