#include "optimizer/kernels/strided_view.h"

#include <algorithm>
#include <vector>

#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/kernel.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/permutation.h"

// [1, 3, 4, 5] in channels-last has strides 60, 1, 15, 3. A Reshape to [1, 3, 20] makes one axis of
// the last two, whose elements are 3 apart throughout, as 15 is 5 times 3: strides 60, 1, 3. Behind
// a Transpose by [0, 2, 1] that is [1, 20, 3] with strides 60, 3, 1: how it lies row-major.

namespace plait {
namespace {

// An axis that has more than one element.
struct LongAxis {
  int axis = 0;
  int64_t size = 1;
};

std::vector<LongAxis> LongAxesOf(const Shape& shape) {
  std::vector<LongAxis> axes;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    if (shape[axis] != 1) axes.push_back({axis, shape[axis]});
  }
  return axes;
}

// Gives axes `to` the strides that elements of axes `from` have, which are as many and must be
// equally far apart throughout.
bool Regroup(const StridedView& view, absl::Span<const LongAxis> from,
             absl::Span<const LongAxis> to, Shape* strides) {
  for (size_t i = 0; i + 1 < from.size(); ++i) {
    const int64_t inner = view.strides[from[i + 1].axis] * from[i + 1].size;
    if (view.strides[from[i].axis] != inner) return false;
  }
  int64_t stride = view.strides[from.back().axis];
  for (size_t i = to.size(); i-- > 0;) {
    (*strides)[to[i].axis] = stride;
    stride *= to[i].size;
  }
  return true;
}

// Axes of the two shapes with equal products, as few at a time as there can be.
std::optional<StridedView> Reshaped(const StridedView& view, const Shape& shape) {
  const std::vector<LongAxis> from = LongAxesOf(view.shape);
  const std::vector<LongAxis> to = LongAxesOf(shape);
  StridedView result{view.offset, shape, Shape(shape.size(), 0)};
  size_t taken = 0;
  size_t given = 0;
  while (taken < from.size() && given < to.size()) {
    const size_t first_taken = taken;
    const size_t first_given = given;
    int64_t elements = from[taken++].size;
    int64_t wanted = to[given++].size;
    while (elements != wanted) {
      if (elements < wanted && taken < from.size()) {
        elements *= from[taken++].size;
      } else if (wanted < elements && given < to.size()) {
        wanted *= to[given++].size;
      } else {
        return std::nullopt;
      }
    }
    if (!Regroup(view, absl::MakeConstSpan(from).subspan(first_taken, taken - first_taken),
                 absl::MakeConstSpan(to).subspan(first_given, given - first_given),
                 &result.strides)) {
      return std::nullopt;
    }
  }
  if (taken < from.size() || given < to.size()) return std::nullopt;
  return result;
}

StridedView Transposed(const StridedView& view, const std::vector<int64_t>& permutation) {
  StridedView result{view.offset, {}, {}};
  for (const int64_t axis : permutation) {
    result.shape.push_back(view.shape[axis]);
    result.strides.push_back(view.strides[axis]);
  }
  return result;
}

int64_t AxisOf(const Graph& graph, NodeId id) {
  return NormalAxis(graph.node(id).attributes->Int("axis", 0), graph.input_type(id, 0).rank());
}

StridedView PartOf(const Graph& graph, NodeId id, size_t output, const StridedView& view) {
  const int64_t axis = AxisOf(graph, id);
  const Node& node = graph.node(id);
  StridedView part = view;
  for (size_t i = 0; i < output; ++i) {
    part.offset += graph.type(node.outputs[i]).shape[axis] * view.strides[axis];
  }
  part.shape[axis] = graph.type(node.outputs[output]).shape[axis];
  return part;
}

std::optional<StridedView> Chosen(const Graph& graph, NodeId id, const StridedView& view) {
  const Tensor* const index = graph.inline_constant(id, 1);
  if (index == nullptr || index->elements() != 1) return std::nullopt;
  const int64_t axis = AxisOf(graph, id);
  const int64_t chosen = NormalAxis(index->AsInt64s()[0], view.shape[axis]);
  if (chosen < 0 || chosen >= view.shape[axis]) return std::nullopt;
  StridedView result{view.offset + chosen * view.strides[axis], view.shape, view.strides};
  result.shape[axis] = 1;
  // The index' axes, if it has any, have one element each and stand in the place of the axis.
  return Reshaped(result, graph.output_type(id).shape);
}

bool HasAllOutputs(const Node& node) {
  return std::find(node.outputs.begin(), node.outputs.end(), kNoTensor) == node.outputs.end();
}

// The chain reads one tensor, and each node what the one before it wrote.
bool IsChain(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.empty() || InputsOf(graph, nodes).size() != 1 || OutputsOf(graph, nodes).size() != 1) {
    return false;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph.node(nodes[i]);
    if (node.inputs.empty() || node.inputs[0] == kNoTensor || node.outputs.size() != 1) {
      return false;
    }
    if (i > 0 && node.inputs[0] != graph.node(nodes[i - 1]).outputs[0]) return false;
  }
  const TensorId first = graph.node(nodes.front()).inputs[0];
  const TensorId last = graph.node(nodes.back()).outputs[0];
  return graph.tensor(first).constant == nullptr && graph.type(first).known() &&
         OutputsOf(graph, nodes).front() == last && graph.type(last).elements() > 0;
}

bool MovesOnly(const Graph& graph, NodeId id) {
  const OpKind op = graph.node(id).op;
  return op == OpKind::kTranspose || HasTraits(op, kView);
}

StridedView WithoutAxesOfOne(const StridedView& view) {
  StridedView result{view.offset, {}, {}};
  for (size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] == 1) continue;
    result.shape.push_back(view.shape[axis]);
    result.strides.push_back(view.strides[axis]);
  }
  return result;
}

// In formats that they can lie in, with elements of one type, stored alike.
bool LieAlike(const TensorType& input, Format from, const TensorType& output, Format to) {
  return CanLieIn(input, from) && CanLieIn(output, to) && input.dtype == output.dtype &&
         StoredType(input, from).dtype == StoredType(output, to).dtype;
}

}  // namespace

StridedView ViewOf(const TensorType& type, Format format) {
  return {0, type.shape, StridesOf(type, format)};
}

std::optional<StridedView> ViewThrough(const Graph& graph, NodeId id, size_t output,
                                       const StridedView& input) {
  const Node& node = graph.node(id);
  if (!HasAllOutputs(node) || output >= node.outputs.size()) return std::nullopt;
  if (HasTraits(node.op, kView)) return Reshaped(input, graph.output_type(id).shape);
  if (node.op == OpKind::kTranspose) return Transposed(input, PermutationOf(graph, id));
  if (node.op == OpKind::kSplit) return PartOf(graph, id, output, input);
  if (node.op == OpKind::kGather) return Chosen(graph, id, input);
  return std::nullopt;
}

std::optional<StridedView> ViewBefore(const Graph& graph, NodeId id, const StridedView& output) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1) return std::nullopt;
  if (HasTraits(node.op, kView)) return Reshaped(output, graph.input_type(id, 0).shape);
  if (node.op != OpKind::kTranspose) return std::nullopt;
  const std::vector<int64_t> permutation = PermutationOf(graph, id);
  std::vector<int64_t> back(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) back[permutation[i]] = static_cast<int64_t>(i);
  return Transposed(output, back);
}

bool KeepsBytes(const Graph& graph, absl::Span<const NodeId> nodes, Format from, Format to) {
  if (!IsChain(graph, nodes)) return false;
  const TensorType& input = graph.input_type(nodes.front(), 0);
  const TensorType& output = graph.output_type(nodes.back());
  if (!LieAlike(input, from, output, to)) return false;
  std::optional<StridedView> view = ViewOf(input, from);
  for (const NodeId id : nodes) {
    if (!MovesOnly(graph, id)) return false;
    view = ViewThrough(graph, id, 0, *view);
    if (!view.has_value()) return false;
  }
  const Shape wanted = StridesOf(output, to);
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    if (output.shape[axis] != 1 && view->strides[axis] != wanted[axis]) return false;
  }
  return true;
}

// From both ends towards each other: a reshape that no view passes forwards may pass backwards.
std::optional<StridedMove> MoveThrough(const Graph& graph, absl::Span<const NodeId> nodes,
                                       Format from, Format to) {
  if (!IsChain(graph, nodes)) return std::nullopt;
  const TensorType& input = graph.input_type(nodes.front(), 0);
  const TensorType& output = graph.output_type(nodes.back());
  if (!LieAlike(input, from, output, to)) return std::nullopt;
  StridedView source = ViewOf(input, from);
  size_t passed = 0;
  while (passed < nodes.size()) {
    if (!MovesOnly(graph, nodes[passed])) return std::nullopt;
    const std::optional<StridedView> next = ViewThrough(graph, nodes[passed], 0, source);
    if (!next.has_value()) break;
    source = *next;
    ++passed;
  }
  StridedView target = ViewOf(output, to);
  for (size_t left = nodes.size(); left > passed; --left) {
    if (!MovesOnly(graph, nodes[left - 1])) return std::nullopt;
    const std::optional<StridedView> before = ViewBefore(graph, nodes[left - 1], target);
    if (!before.has_value()) return std::nullopt;
    target = *before;
  }
  return StridedMove{WithoutAxesOfOne(source), WithoutAxesOfOne(target)};
}

}  // namespace plait
