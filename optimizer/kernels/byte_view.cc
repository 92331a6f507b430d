#include "optimizer/kernels/byte_view.h"

#include <algorithm>
#include <vector>

#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/kernel.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"

// [1, 3, 4, 5] in channels-last has in memory, from the outermost: axis 2 of 4, axis 3 of 5, axis 1
// of 3. A Reshape to [1, 3, 20] merges axes 2 and 3, which lie beside each other in order: axis 2
// of 20, axis 1 of 3. Transposed by [0, 2, 1] that is axis 1 of 20, axis 2 of 3, which is how a
// [1, 20, 3] lies row-major.

namespace plait {
namespace {

// An axis that has more than one element.
struct MemoryAxis {
  int axis = 0;
  int64_t size = 1;
  friend bool operator==(const MemoryAxis&, const MemoryAxis&) = default;
};

// From the outermost to the innermost.
using MemoryOrder = std::vector<MemoryAxis>;

MemoryOrder OrderOf(const TensorType& type, Format format) {
  const Shape strides = StridesOf(type, format);
  MemoryOrder order;
  for (int axis = 0; axis < type.rank(); ++axis) {
    if (type.shape[axis] != 1) order.push_back({axis, type.shape[axis]});
  }
  std::stable_sort(order.begin(), order.end(), [&](const MemoryAxis& a, const MemoryAxis& b) {
    return strides[a.axis] > strides[b.axis];
  });
  return order;
}

MemoryOrder Transposed(const MemoryOrder& order, const std::vector<int>& permutation) {
  MemoryOrder result = order;
  for (MemoryAxis& place : result) {
    const auto found = std::find(permutation.begin(), permutation.end(), place.axis);
    place.axis = static_cast<int>(found - permutation.begin());
  }
  return result;
}

// The axes of a shape that have more than one element, in logical order.
MemoryOrder LogicalAxes(const Shape& shape) {
  MemoryOrder axes;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    if (shape[axis] != 1) axes.push_back({axis, shape[axis]});
  }
  return axes;
}

// Puts `after` in the place of `before`, which must lie in memory as it stands.
bool Exchange(absl::Span<const MemoryAxis> before, absl::Span<const MemoryAxis> after,
              MemoryOrder* order) {
  const auto found = std::search(order->begin(), order->end(), before.begin(), before.end());
  if (found == order->end()) return false;
  const auto at = order->erase(found, found + static_cast<int64_t>(before.size()));
  order->insert(at, after.begin(), after.end());
  return true;
}

// Axes of the two shapes with equal products, as few at a time as there can be: those of the one
// must lie together, to become those of the other.
bool Reshape(const Shape& from, const Shape& to, MemoryOrder* order) {
  const MemoryOrder before = LogicalAxes(from);
  const MemoryOrder after = LogicalAxes(to);
  MemoryOrder result = *order;
  // Names of the two shapes' axes must not meet.
  constexpr int kOfResult = 1 << 16;
  size_t taken = 0;
  size_t given = 0;
  while (taken < before.size() && given < after.size()) {
    const size_t first_taken = taken;
    const size_t first_given = given;
    int64_t elements = before[taken++].size;
    int64_t wanted = after[given++].size;
    while (elements != wanted) {
      if (elements < wanted && taken < before.size()) {
        elements *= before[taken++].size;
      } else if (wanted < elements && given < after.size()) {
        wanted *= after[given++].size;
      } else {
        return false;
      }
    }
    MemoryOrder named(after.begin() + first_given, after.begin() + given);
    for (MemoryAxis& place : named) place.axis += kOfResult;
    const auto together = absl::MakeConstSpan(before).subspan(first_taken, taken - first_taken);
    if (!Exchange(together, named, &result)) return false;
  }
  if (taken < before.size() || given < after.size()) return false;
  for (MemoryAxis& place : result) place.axis -= kOfResult;
  *order = std::move(result);
  return true;
}

std::vector<int> PermutationOf(const Graph& graph, const Node& node) {
  const int rank = graph.type(node.inputs[0]).rank();
  std::vector<int> permutation;
  for (const int64_t axis : node.attributes->Ints("perm")) {
    permutation.push_back(static_cast<int>(NormalAxis(axis, rank)));
  }
  if (permutation.empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) permutation.push_back(axis);
  }
  return permutation;
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

}  // namespace

bool KeepsBytes(const Graph& graph, absl::Span<const NodeId> nodes, Format from, Format to) {
  if (!IsChain(graph, nodes)) return false;
  const TensorType& input = graph.input_type(nodes.front(), 0);
  const TensorType& output = graph.output_type(nodes.back());
  if (!CanLieIn(input, from) || !CanLieIn(output, to) || input.dtype != output.dtype) return false;
  MemoryOrder order = OrderOf(input, from);
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.op == OpKind::kTranspose) {
      order = Transposed(order, PermutationOf(graph, node));
    } else if (!HasTraits(node.op, kView) ||
               !Reshape(graph.input_type(id, 0).shape, graph.output_type(id).shape, &order)) {
      return false;
    }
  }
  return order == OrderOf(output, to);
}

}  // namespace plait
