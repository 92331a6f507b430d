#include <algorithm>
#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/reduced_axes.h"
#include "gpu_worker/backends/groups/row_operand.h"
#include "optimizer/ops/shared/axes.h"

namespace plait::cuda {
namespace {

std::optional<RowsProblem::Kind> KindOf(OpKind op) {
  switch (op) {
    case OpKind::kSoftmax:
      return RowsProblem::Kind::kSoftmax;
    case OpKind::kLogSoftmax:
      return RowsProblem::Kind::kLogSoftmax;
    case OpKind::kLayerNormalization:
      return RowsProblem::Kind::kLayerNorm;
    case OpKind::kReduceSum:
      return RowsProblem::Kind::kReduceSum;
    case OpKind::kReduceMean:
      return RowsProblem::Kind::kReduceMean;
    case OpKind::kReduceMax:
      return RowsProblem::Kind::kReduceMax;
    default:
      return std::nullopt;
  }
}

// Axes of a reduction are integers.
bool HoldsFloats(const Graph& graph, NodeId id) {
  return graph.input_type(id, 0).dtype == DataType::kFloat32 &&
         graph.output_type(id).dtype == DataType::kFloat32 &&
         graph.input_type(id, 0).elements() > 0;
}

// The rows of a tensor that begin at an axis.
RowsProblem RowsFrom(const TensorType& type, int64_t axis) {
  RowsProblem rows;
  for (int i = 0; i < type.rank(); ++i) (i < axis ? rows.rows : rows.columns) *= type.shape[i];
  return rows;
}

// The first axis of a row. A softmax is along one axis, behind which others have one element each.
std::optional<int64_t> FirstAxis(const Graph& graph, NodeId id, RowsProblem::Kind kind) {
  const Node& node = graph.node(id);
  const TensorType& type = graph.input_type(id, 0);
  if (kind == RowsProblem::Kind::kLayerNorm) {
    return NormalAxis(node.attributes->Int("axis", -1), type.rank());
  }
  if (kind == RowsProblem::Kind::kSoftmax || kind == RowsProblem::Kind::kLogSoftmax) {
    const std::optional<int> axis = AxisOf(graph, id, -1);
    if (!axis.has_value() || RowsFrom(type, *axis + 1).columns != 1) return std::nullopt;
    return *axis;
  }
  const std::optional<std::vector<int>> axes = ReducedAxes(graph, id);
  if (!axes.has_value() || axes->empty()) return std::nullopt;
  const bool are_last = axes->back() == type.rank() - 1 &&
                        axes->back() - axes->front() + 1 == static_cast<int>(axes->size());
  return are_last ? std::optional<int64_t>(axes->front()) : std::nullopt;
}

// Scale and shift of a normalization; one that lacks either has ones or zeros.
OperandValue ColumnsOf(const Graph& graph, const Node& node, size_t input, int64_t columns,
                       float otherwise) {
  if (input < node.inputs.size() && node.inputs[input] != kNoTensor) {
    return OperandOf(graph, node.inputs[input]);
  }
  const std::vector<float> values(columns, otherwise);
  return OperandOf(Constant::OfTensor(Tensor::Of<float>({columns}, values)));
}

bool ReadNormalization(const Graph& graph, NodeId id, RowsProblem* rows, KernelProblem* problem) {
  const Node& node = graph.node(id);
  const TensorType& x = graph.input_type(id, 0);
  const int64_t axis = *FirstAxis(graph, id, RowsProblem::Kind::kLayerNorm);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const TensorId input = node.inputs[i];
    if (input != kNoTensor && !IsRowOf(x, axis, graph.type(input))) return false;
  }
  rows->epsilon = node.attributes->Float("epsilon", 1e-5F);
  problem->weights = ColumnsOf(graph, node, 1, rows->columns, 1);
  problem->bias = ColumnsOf(graph, node, 2, rows->columns, 0);
  return true;
}

// The problem of a node alone, but for its kernel's formats.
std::optional<KernelProblem> ProblemAt(const Graph& graph, NodeId id) {
  if (!HasEnds(graph, id) || !HoldsFloats(graph, id)) return std::nullopt;
  const std::optional<RowsProblem::Kind> kind = KindOf(graph.node(id).op);
  if (!kind.has_value() || !HasOneOutput(graph.node(id))) return std::nullopt;
  const std::optional<int64_t> axis = FirstAxis(graph, id, *kind);
  if (!axis.has_value()) return std::nullopt;
  KernelProblem problem{.inputs = {OperandOf(graph, graph.node(id).inputs[0])}};
  RowsProblem rows = RowsFrom(graph.input_type(id, 0), *axis);
  rows.kind = *kind;
  const bool is_norm = *kind == RowsProblem::Kind::kLayerNorm;
  // Nothing on the device computes it.
  if (rows.columns > kRowColumnsMax && !is_norm) return std::nullopt;
  if (is_norm && !ReadNormalization(graph, id, &rows, &problem)) return std::nullopt;
  problem.problem = rows;
  return problem;
}

// The normalization that alone reads a sum of two tensors; kNoNode: there is none.
NodeId NormalizationBehind(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kAdd}) || !AllFloat32(graph, id)) return kNoNode;
  const Node& sum = graph.node(id);
  for (const TensorId input : sum.inputs) {
    const bool adds =
        graph.tensor(input).constant == nullptr && graph.type(input) == graph.output_type(id);
    if (!adds) return kNoNode;
  }
  if (!graph.has_single_use(sum.outputs[0]) || graph.is_output(sum.outputs[0])) return kNoNode;
  const NodeId reader = graph.users(sum.outputs[0])[0];
  const bool reads = IsOneOf(graph, reader, {OpKind::kLayerNormalization}) &&
                     graph.node(reader).inputs[0] == sum.outputs[0];
  return reads ? reader : kNoNode;
}

std::vector<std::vector<NodeId>> GroupsOfRows(const Graph& graph, NodeId node) {
  if (KindOf(graph.node(node).op).has_value()) return {{node}};
  const NodeId behind = NormalizationBehind(graph, node);
  if (behind == kNoNode) return {};
  return {{node, behind}};
}

std::optional<KernelProblem> ProblemOfRows(const Graph& graph, const Kernel& kernel) {
  if (LayoutOf(graph, kernel) != MemoryLayout::kNchw) return std::nullopt;
  if (kernel.nodes.size() == 1) return ProblemAt(graph, kernel.nodes[0]);
  const NodeId sum = kernel.nodes[0];
  if (kernel.nodes.size() != 2 || NormalizationBehind(graph, sum) != kernel.nodes[1]) {
    return std::nullopt;
  }
  std::optional<KernelProblem> problem = ProblemAt(graph, kernel.nodes[1]);
  if (!problem.has_value()) return std::nullopt;
  problem->inputs = {OperandOf(graph, graph.node(sum).inputs[0])};
  problem->residual = OperandOf(graph, graph.node(sum).inputs[1]);
  std::get<RowsProblem>(problem->problem).residual = true;
  return problem;
}

}  // namespace

const CudaFamily kRowsFamily = {
    .name = "rows",
    .groups = GroupsOfRows,
    .rows = PlainRow,
    .problem = ProblemOfRows,
};

}  // namespace plait::cuda
