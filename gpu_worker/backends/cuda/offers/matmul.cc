#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/fused_chain.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait::cuda {
namespace {

int64_t Product(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

// A Gemm with factors, or an addend that is no row, is not one product.
bool IsPlainGemm(const Graph& graph, const Node& node) {
  if (node.attributes->Float("alpha", 1) != 1) return false;
  if (!HasBias(node)) return true;
  const TensorType& addend = graph.type(node.inputs[2]);
  const int64_t columns = graph.type(node.outputs[0]).shape[1];
  return node.attributes->Float("beta", 1) == 1 && !addend.shape.empty() &&
         addend.shape.back() == columns && addend.elements() == columns;
}

// A right side without a batch makes one product of all rows of the left one; others have a batch
// each, and alike.
std::optional<GemmProblem> ProductAt(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kGemm, OpKind::kMatMul}) || !AllFloat32(graph, id)) {
    return std::nullopt;
  }
  const Node& node = graph.node(id);
  const Shape& a = graph.input_type(id, 0).shape;
  const Shape& b = graph.input_type(id, 1).shape;
  const absl::Span<const int64_t> out = graph.output_type(id).shape;
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  GemmProblem gemm;
  if (node.op == OpKind::kGemm) {
    if (!IsPlainGemm(graph, node)) return std::nullopt;
    gemm.transpose_a = node.attributes->Int("transA", 0) != 0;
    gemm.transpose_b = node.attributes->Int("transB", 0) != 0;
  }
  const absl::Span<const int64_t> batch = absl::MakeConstSpan(a).first(a.size() - 2);
  if (b.size() > 2 && absl::MakeConstSpan(b).first(b.size() - 2) != batch) return std::nullopt;
  gemm.weights = b.size() == 2 && graph.tensor(node.inputs[1]).constant != nullptr;
  gemm.batch = b.size() == 2 ? 1 : Product(batch);
  gemm.m = Product(out.first(out.size() - 1)) / gemm.batch;
  gemm.n = out.back();
  gemm.k = gemm.transpose_a ? a[a.size() - 2] : a.back();
  gemm.bias = HasBias(node);
  return gemm;
}

std::vector<std::vector<NodeId>> GroupsOfMatmul(const Graph& graph, NodeId node) {
  if (!ProductAt(graph, node).has_value()) return {};
  return GrowChains(graph, {}, node, HasBias(graph.node(node)));
}

std::optional<KernelProblem> ProblemOfMatmul(const Graph& graph, const Kernel& kernel) {
  const NodeId root = kernel.nodes.front();
  std::optional<GemmProblem> gemm = ProductAt(graph, root);
  if (!gemm.has_value() || LayoutOf(graph, kernel) != MemoryLayout::kNchw) return std::nullopt;
  const std::optional<FusedChain> chain =
      ChainOf(graph, root, gemm->bias, absl::MakeConstSpan(kernel.nodes).subspan(1));
  if (!chain.has_value()) return std::nullopt;
  const Node& node = graph.node(root);
  KernelProblem problem{.inputs = {OperandOf(graph, node.inputs[0])}};
  if (gemm->weights) {
    problem.weights = OperandOf(graph, node.inputs[1]);
  } else {
    problem.inputs.push_back(OperandOf(graph, node.inputs[1]));
  }
  problem.bias = OperandOf(graph, gemm->bias ? node.inputs[2] : chain->bias);
  problem.residual = OperandOf(graph, chain->residual);
  gemm->bias = problem.bias.present();
  gemm->residual = problem.residual.present();
  gemm->activation = chain->activation;
  problem.problem = *gemm;
  return problem;
}

}  // namespace

const CudaFamily kMatmulFamily = {
    .name = "matmul",
    .groups = GroupsOfMatmul,
    .rows = PlainRow,
    .problem = ProblemOfMatmul,
    .multiplies = true,
    .has_16_bits = true,
};

}  // namespace plait::cuda
