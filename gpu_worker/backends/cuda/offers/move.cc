#include <algorithm>
#include <numeric>
#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/move_chains.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/kernels/strided_view.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/slice_ranges.h"

namespace plait::cuda {
namespace {

using Kind = MovementProblem::Kind;
using Fill = MovementProblem::Fill;

bool MovesElements(const Graph& graph, NodeId id) {
  return HasEnds(graph, id) && graph.input_type(id, 0).dtype == graph.output_type(id).dtype &&
         MovedAs(graph.output_type(id).dtype).has_value() && IsMovable(graph, id);
}

std::optional<MovementProblem> Concatenation(const Graph& graph, NodeId id) {
  const std::optional<int> axis = AxisOf(graph, id, 0);
  if (!axis.has_value()) return std::nullopt;
  MovementProblem move{.kind = Kind::kConcat, .axis = *axis};
  for (const TensorId input : graph.node(id).inputs) {
    if (input == kNoTensor) return std::nullopt;
    move.inputs.push_back(SizesOf(graph.type(input)));
  }
  return move;
}

// The parts that anyone reads.
std::optional<MovementProblem> Splitting(const Graph& graph, NodeId id) {
  const std::optional<int> axis = AxisOf(graph, id, 0);
  if (!axis.has_value()) return std::nullopt;
  MovementProblem move{.kind = Kind::kSlice, .axis = *axis};
  int64_t start = 0;
  for (const TensorId output : graph.node(id).outputs) {
    if (output == kNoTensor) return std::nullopt;
    const int64_t size = graph.type(output).shape[*axis];
    if (!graph.users(output).empty() || graph.is_output(output)) {
      move.starts.push_back(start);
      move.sizes.push_back(size);
    }
    start += size;
  }
  return move;
}

// Element by element; along several axes, or in steps, it is a padding that takes away.
std::optional<MovementProblem> Slicing(const Graph& graph, NodeId id) {
  const absl::StatusOr<std::vector<SliceRange>> ranges = ReadSlice(graph, id);
  if (!ranges.ok() || ranges->empty()) return std::nullopt;
  const Shape& shape = graph.input_type(id, 0).shape;
  MovementProblem move{.kind = Kind::kSlice, .starts = {0}, .sizes = {shape[0]}};
  MovementProblem crop{.kind = Kind::kPad};
  int axes = 0;
  bool has_steps = false;
  for (size_t axis = 0; axis < ranges->size(); ++axis) {
    const SliceRange& range = (*ranges)[axis];
    if (range.step < 1) return std::nullopt;
    has_steps = has_steps || range.step > 1;
    crop.starts.push_back(-range.start);
    const int64_t end = range.start + (range.count - 1) * range.step + 1;
    crop.sizes.push_back(end - shape[axis]);
    crop.steps.push_back(range.step);
    if (range.count == shape[axis]) continue;
    move.axis = static_cast<int64_t>(axis);
    move.starts = {range.start};
    move.sizes = {range.count};
    ++axes;
  }
  if (!has_steps) crop.steps.clear();
  return axes > 1 || has_steps ? crop : move;
}

std::optional<MovementProblem> Gathering(const Graph& graph, NodeId id) {
  const std::optional<int> axis = AxisOf(graph, id, 0);
  if (!axis.has_value() || graph.input_type(id, 1).dtype != DataType::kInt64) return std::nullopt;
  return MovementProblem{
      .kind = Kind::kGather, .inputs = {{}, SizesOf(graph.input_type(id, 1))}, .axis = *axis};
}

std::optional<Fill> FillOf(const std::string& mode) {
  if (mode == "constant") return Fill::kValue;
  if (mode == "edge") return Fill::kEdge;
  if (mode == "reflect") return Fill::kReflect;
  if (mode == "wrap") return Fill::kWrap;
  return std::nullopt;
}

// nullopt: a number of another float than float32, which is moved as an integer of other bits.
std::optional<double> FillValue(const Tensor& value) {
  const DataType dtype = value.type().dtype;
  const bool has_other_bits = IsFloat(dtype) && dtype != DataType::kFloat32;
  if (value.elements() != 1 || has_other_bits) return std::nullopt;
  return value.AsDoubles()[0];
}

std::optional<MovementProblem> Padding(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<Fill> fill = FillOf(node.attributes->String("mode", "constant"));
  const Tensor* const pads = graph.inline_constant(id, 1);
  if (!fill.has_value() || pads == nullptr) return std::nullopt;
  MovementProblem move{.kind = Kind::kPad, .fill = *fill};
  if (HasInput(node, 2)) {
    const Tensor* const constant = graph.inline_constant(id, 2);
    const std::optional<double> value = constant == nullptr ? std::nullopt : FillValue(*constant);
    if (!value.has_value()) return std::nullopt;
    move.value = *value;
  }
  const auto rank = static_cast<size_t>(graph.input_type(id, 0).rank());
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (HasInput(node, 3)) {
    const Tensor* const told = graph.inline_constant(id, 3);
    if (told == nullptr) return std::nullopt;
    axes = told->AsInt64s();
  }
  const std::vector<int64_t> counts = pads->AsInt64s();
  if (counts.size() != 2 * axes.size()) return std::nullopt;
  move.starts.assign(rank, 0);
  move.sizes.assign(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = NormalAxis(axes[i], static_cast<int>(rank));
    move.starts[axis] = counts[i];
    move.sizes[axis] = counts[i + axes.size()];
  }
  return move;
}

// A tile goes on from the first element on, behind the last one.
std::optional<MovementProblem> Tiling(const Graph& graph, NodeId id) {
  const Shape& from = graph.input_type(id, 0).shape;
  const Shape& to = graph.output_type(id).shape;
  MovementProblem move{.kind = Kind::kPad, .fill = Fill::kWrap};
  for (size_t axis = 0; axis < from.size(); ++axis) {
    move.starts.push_back(0);
    move.sizes.push_back(to[axis] - from[axis]);
  }
  return move;
}

std::vector<int64_t> PermutationOf(const Graph& graph, NodeId id) {
  std::vector<int64_t> reversed(graph.input_type(id, 0).rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return graph.node(id).attributes->Ints("perm", reversed);
}

// What a node alone moves; `inputs` without sizes are the first input's.
std::optional<MovementProblem> MovementAt(const Graph& graph, NodeId id) {
  switch (graph.node(id).op) {
    case OpKind::kConcat:
      return Concatenation(graph, id);
    case OpKind::kSplit:
      return Splitting(graph, id);
    case OpKind::kSlice:
      return Slicing(graph, id);
    case OpKind::kGather:
      return Gathering(graph, id);
    case OpKind::kPad:
      return Padding(graph, id);
    case OpKind::kTile:
      return Tiling(graph, id);
    case OpKind::kTranspose:
      return MovementProblem{.kind = Kind::kTranspose, .permutation = PermutationOf(graph, id)};
    default:
      return std::nullopt;
  }
}

// The axes from the one whose neighbours lie furthest apart on; empty where the view has gaps.
std::vector<int64_t> DenseOrder(const StridedView& view) {
  std::vector<int64_t> order(view.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return view.strides[a] > view.strides[b]; });
  int64_t inner = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (view.strides[*axis] != inner) return {};
    inner *= view.shape[*axis];
  }
  return view.offset == 0 ? order : std::vector<int64_t>();
}

// A chain that is one copy is a transpose of axes in their order in memory.
std::optional<KernelProblem> ChainProblem(const Graph& graph, const Kernel& kernel) {
  const NodeId first = kernel.nodes.front();
  if (kernel.input_formats.size() != 1 || kernel.output_formats.size() != 1) return std::nullopt;
  if (!MovesElements(graph, first)) return std::nullopt;
  const std::optional<StridedMove> move =
      MoveThrough(graph, kernel.nodes, kernel.input_formats[0], kernel.output_formats[0]);
  if (!move.has_value()) return std::nullopt;
  const std::vector<int64_t> source = DenseOrder(move->source);
  const std::vector<int64_t> target = DenseOrder(move->target);
  if (source.empty() || target.empty()) return std::nullopt;
  MovementProblem problem{.kind = Kind::kTranspose, .inputs = {{}}};
  problem.type = *MovedAs(graph.output_type(first).dtype);
  for (const int64_t axis : source) problem.inputs[0].push_back(move->source.shape[axis]);
  for (const int64_t axis : target) {
    const auto place = std::find(source.begin(), source.end(), axis) - source.begin();
    problem.permutation.push_back(place);
  }
  OperandValue input = OperandOf(graph, graph.node(first).inputs[0]);
  input.format = kernel.input_formats[0];
  return KernelProblem{.problem = std::move(problem), .inputs = {std::move(input)}};
}

std::vector<std::vector<NodeId>> GroupsOfMove(const Graph& graph, NodeId node) {
  std::vector<std::vector<NodeId>> groups = GrowMoves(graph, node);
  const bool moves = IsOneOf(graph, node,
                             {OpKind::kConcat, OpKind::kGather, OpKind::kPad, OpKind::kSlice,
                              OpKind::kSplit, OpKind::kTile, OpKind::kTranspose}) &&
                     MovesElements(graph, node);
  if (moves) groups.insert(groups.begin(), {node});
  return groups;
}

std::vector<FormatRow> RowsOfMove(const Graph& graph, absl::Span<const NodeId> nodes) {
  const OpKind op = graph.node(nodes[0]).op;
  if (nodes.size() > 1 || op == OpKind::kTranspose) return MoveRows(graph, nodes);
  return op == OpKind::kGather ? PlainRow(graph, nodes) : SpatialRows(graph, nodes);
}

// A gather and a transpose see rows of numbers, whatever lies in them.
std::optional<KernelProblem> ProblemOfMove(const Graph& graph, const Kernel& kernel) {
  if (kernel.nodes.size() > 1) return ChainProblem(graph, kernel);
  const NodeId id = kernel.nodes[0];
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (!layout.has_value() || !MovesElements(graph, id)) return std::nullopt;
  std::optional<MovementProblem> move = MovementAt(graph, id);
  if (!move.has_value()) return std::nullopt;
  const bool is_plain = move->kind == Kind::kGather || move->kind == Kind::kTranspose;
  if (is_plain && *layout != MemoryLayout::kNchw) return std::nullopt;
  if (move->inputs.empty()) move->inputs.emplace_back();
  if (move->inputs[0].empty()) move->inputs[0] = SizesOf(graph.input_type(id, 0));
  move->type = *MovedAs(graph.output_type(id).dtype);
  KernelProblem problem{.layout = *layout};
  for (size_t i = 0; i < move->inputs.size(); ++i) {
    problem.inputs.push_back(OperandOf(graph, graph.node(id).inputs[i], *layout));
  }
  problem.problem = *std::move(move);
  return problem;
}

}  // namespace

const CudaFamily kMoveFamily = {
    .name = "move",
    .groups = GroupsOfMove,
    .rows = RowsOfMove,
    .problem = ProblemOfMove,
    .takes_parts = true,
};

}  // namespace plait::cuda
