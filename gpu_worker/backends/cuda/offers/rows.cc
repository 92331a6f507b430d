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
    case OpKind::kRMSNormalization:
      return RowsProblem::Kind::kRmsNorm;
    case OpKind::kInstanceNormalization:
      return RowsProblem::Kind::kInstanceNorm;
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

// The axes that make a row, from the first to the one behind the last.
struct RowAxes {
  int64_t first = 0;
  int64_t past = 0;
};

RowsProblem RowsOf(const TensorType& type, const RowAxes& axes) {
  RowsProblem rows;
  for (int64_t i = 0; i < type.rank(); ++i) {
    (i >= axes.first && i < axes.past ? rows.columns : rows.rows) *= type.shape[i];
    if (i >= axes.past) rows.inner *= type.shape[i];
  }
  return rows;
}

std::optional<RowAxes> RowAxesOf(const Graph& graph, NodeId id, RowsProblem::Kind kind) {
  using Kind = RowsProblem::Kind;
  const Node& node = graph.node(id);
  const int rank = graph.input_type(id, 0).rank();
  switch (kind) {
    case Kind::kLayerNorm:
    case Kind::kRmsNorm: {
      const std::optional<int64_t> axis = NormalAxis(node.attributes->Int("axis", -1), rank);
      if (!axis.has_value()) return std::nullopt;
      return RowAxes{*axis, rank};
    }
    case Kind::kInstanceNorm:
      return RowAxes{2, rank};
    case Kind::kSoftmax:
    case Kind::kLogSoftmax: {
      const std::optional<int> axis = AxisOf(graph, id, -1);
      if (!axis.has_value()) return std::nullopt;
      return RowAxes{*axis, *axis + 1};
    }
    default: {
      const std::optional<std::vector<int>> axes = ReducedAxes(graph, id);
      if (!axes.has_value() || axes->empty()) return std::nullopt;
      const int past = axes->back() + 1;
      if (past - axes->front() != static_cast<int>(axes->size())) return std::nullopt;
      return RowAxes{axes->front(), past};
    }
  }
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

// Norms of columns have numbers of the row's shape.
bool ReadColumns(const Graph& graph, NodeId id, const RowAxes& axes, const RowsProblem& rows,
                 KernelProblem* problem) {
  const Node& node = graph.node(id);
  const TensorType& x = graph.input_type(id, 0);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const TensorId input = node.inputs[i];
    if (input != kNoTensor && !IsRowOf(x, axes.first, graph.type(input))) return false;
  }
  problem->weights = ColumnsOf(graph, node, 1, rows.columns, 1);
  if (rows.kind == RowsProblem::Kind::kLayerNorm) {
    problem->bias = ColumnsOf(graph, node, 2, rows.columns, 0);
  }
  return true;
}

bool ReadNormalization(const Graph& graph, NodeId id, const RowAxes& axes, RowsProblem* rows,
                       KernelProblem* problem) {
  const Node& node = graph.node(id);
  rows->epsilon = node.attributes->Float("epsilon", 1e-5F);
  if (rows->kind != RowsProblem::Kind::kInstanceNorm) {
    return ReadColumns(graph, id, axes, *rows, problem);
  }
  if (node.inputs.size() != 3 || graph.input_type(id, 0).rank() < 3) return false;
  rows->channels = graph.input_type(id, 0).shape[1];
  problem->weights = OperandOf(graph, node.inputs[1]);
  problem->bias = OperandOf(graph, node.inputs[2]);
  return true;
}

// The problem of a node alone, but for its kernel's formats.
std::optional<KernelProblem> ProblemAt(const Graph& graph, NodeId id) {
  if (!HasEnds(graph, id) || !HoldsFloats(graph, id)) return std::nullopt;
  const std::optional<RowsProblem::Kind> kind = KindOf(graph.node(id).op);
  if (!kind.has_value() || !HasOneOutput(graph.node(id))) return std::nullopt;
  const std::optional<RowAxes> axes = RowAxesOf(graph, id, *kind);
  if (!axes.has_value()) return std::nullopt;
  KernelProblem problem{.inputs = {OperandOf(graph, graph.node(id).inputs[0])}};
  RowsProblem rows = RowsOf(graph.input_type(id, 0), *axes);
  rows.kind = *kind;
  // Nothing on the device computes it; longer layer norms are cuDNN's.
  const bool is_held = rows.inner != 1 || rows.kind == RowsProblem::Kind::kLayerNorm;
  if (rows.columns > kRowColumnsMax && !is_held) return std::nullopt;
  if (rows.normalizes() && !ReadNormalization(graph, id, *axes, &rows, &problem)) {
    return std::nullopt;
  }
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
  const bool reads =
      IsOneOf(graph, reader, {OpKind::kLayerNormalization, OpKind::kRMSNormalization}) &&
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
