#include "gpu_worker/backends/groups/recurrence_pattern.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "gpu_worker/backends/groups/node_checks.h"

// Of c_t = f_t * c_{t-1} + z_t over three steps the nodes are
//   0 f0, f1, f2 = Split(f)    1 z0, z1, z2 = Split(z)
//   2 m1 = Mul(f1, z0)         3 c1 = Add(m1, z1)
//   4 m2 = Mul(f2, c1)         5 c2 = Add(m2, z2)      6 c = Concat(z0, c1, c2)
// From 0 on the others are found over their common readers: 2, from there 1, and so on. What reads
// c in the next layer is found too, and left out again: between the two stands a product, which
// would have to wait for the group and the group for it.

namespace plait {
namespace {

// Fewer, or shorter, are better off in the kernels that they have.
constexpr size_t kNodesMin = 8;
constexpr int64_t kHiddenMin = 16;
// Ids that a group may span. A bound on the time of looking for it.
constexpr NodeId kSpanMax = 2048;
// A program's registers: what all rows together may be.
constexpr int64_t kRowsMax = 8192;
// Nodes between the first of a group and its first Split.
constexpr int kStepsToSplit = 4;

// The axis that the parts of a Split lie along, if nothing lies before it.
std::optional<RowFrame> FrameOfSplit(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kSplit})) return std::nullopt;
  const std::optional<int> axis = AxisOf(graph, node, 0);
  if (!axis.has_value()) return std::nullopt;
  const Shape& shape = graph.input_type(node, 0).shape;
  const auto ends = shape.begin() + *axis;
  if (!std::all_of(shape.begin(), ends, [](int64_t size) { return size == 1; })) {
    return std::nullopt;
  }
  return RowFrame{static_cast<int>(shape.size()), *axis, Shape(ends + 1, shape.end())};
}

bool IsInFrame(const Graph& graph, const RowFrame& frame, TensorId tensor) {
  return tensor != kNoTensor && frame.RowsOf(graph.type(tensor)).has_value();
}

// Rows of the inputs stand beside those of the output, or are the same for all of them. Statistics
// are columns of another axis.
bool ComputesRows(const Graph& graph, const RowFrame& frame, NodeId node) {
  const Node& n = graph.node(node);
  if (n.op == OpKind::kBatchNormalization || IsQuantization(n.op)) return false;
  if (!IsElementwise(graph, node)) return false;
  const std::optional<int64_t> rows = frame.RowsOf(graph.output_type(node));
  if (!rows.has_value()) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](TensorId input) {
    // Bounds that are left out.
    if (input == kNoTensor) return true;
    const std::optional<int64_t> of_input = frame.RowsOf(graph.type(input));
    return of_input.has_value() && (*of_input == 1 || *of_input == *rows);
  });
}

// Whether the node takes rows apart or puts them together.
bool MovesRows(const Graph& graph, const RowFrame& frame, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kSplit, OpKind::kConcat})) return false;
  const Node& n = graph.node(node);
  const auto is_in_frame = [&](TensorId tensor) {
    return IsInFrame(graph, frame, tensor) && graph.type(tensor).rank() == frame.rank;
  };
  // A Split's second input is the sizes, which its results have too.
  const size_t inputs = n.op == OpKind::kSplit ? 1 : n.inputs.size();
  return AxisOf(graph, node, 0) == frame.axis &&
         std::all_of(n.inputs.begin(), n.inputs.begin() + static_cast<int64_t>(inputs),
                     is_in_frame) &&
         std::all_of(n.outputs.begin(), n.outputs.end(), is_in_frame);
}

bool IsMember(const Graph& graph, const RowFrame& frame, NodeId node) {
  return MovesRows(graph, frame, node) || ComputesRows(graph, frame, node);
}

// From an elementwise node ahead to a Split, which a group of more than that begins with.
std::optional<RowFrame> FrameAhead(const Graph& graph, NodeId node) {
  for (int step = 0; step < kStepsToSplit; ++step) {
    if (std::optional<RowFrame> frame = FrameOfSplit(graph, node)) return frame;
    if (!HasEnds(graph, node) || !IsElementwise(graph, node)) return std::nullopt;
    const auto& users = graph.users(graph.node(node).outputs[0]);
    const auto split = std::find_if(users.begin(), users.end(), [&](NodeId user) {
      return graph.node(user).op == OpKind::kSplit;
    });
    if (users.empty()) return std::nullopt;
    node = split != users.end() ? *split : users.front();
  }
  return std::nullopt;
}

// Members from `first` on that hang together through what they read and write.
absl::flat_hash_set<NodeId> Connected(const Graph& graph, const RowFrame& frame, NodeId first) {
  absl::flat_hash_set<NodeId> found = {first};
  std::vector<NodeId> pending = {first};
  const NodeId past = std::min(first + kSpanMax, graph.node_count());
  const auto visit = [&](NodeId node) {
    if (node == kNoNode || node < first || node >= past || found.contains(node)) return;
    if (!IsMember(graph, frame, node)) return;
    found.insert(node);
    pending.push_back(node);
  };
  while (!pending.empty()) {
    const Node& node = graph.node(pending.back());
    pending.pop_back();
    for (const TensorId output : node.outputs) {
      if (output == kNoTensor) continue;
      for (const NodeId user : graph.users(output)) visit(user);
    }
    for (const TensorId input : node.inputs) {
      if (input != kNoTensor) visit(graph.tensor(input).producer);
    }
  }
  return found;
}

// Those of the nodes that wait for no other node which waits for one of them: nodes stand in
// topological order, so that one pass sees all of it.
std::vector<NodeId> Convex(const Graph& graph, const absl::flat_hash_set<NodeId>& nodes) {
  const auto [first, last] = std::minmax_element(nodes.begin(), nodes.end());
  enum class Waits : uint8_t { kNot, kInside, kOutside };
  std::vector<Waits> waits(static_cast<size_t>(*last - *first) + 1, Waits::kNot);
  std::vector<NodeId> group;
  for (NodeId node = *first; node <= *last; ++node) {
    bool on_group = false;
    bool on_others = false;
    for (const TensorId input : graph.node(node).inputs) {
      const NodeId producer = input == kNoTensor ? kNoNode : graph.tensor(input).producer;
      if (producer == kNoNode || producer < *first) continue;
      const Waits of_producer = waits[static_cast<size_t>(producer - *first)];
      on_group = on_group || of_producer == Waits::kInside;
      on_others = on_others || of_producer == Waits::kOutside;
    }
    Waits& own = waits[static_cast<size_t>(node - *first)];
    if (nodes.contains(node) && !on_others) {
      group.push_back(node);
      own = Waits::kInside;
    } else if (on_group || on_others) {
      own = Waits::kOutside;
    }
  }
  return group;
}

int64_t RowsTogether(const Graph& graph, const RowFrame& frame, absl::Span<const NodeId> nodes) {
  int64_t rows = 0;
  for (const NodeId node : nodes) {
    for (const TensorId input : graph.node(node).inputs) {
      if (IsInFrame(graph, frame, input)) rows += *frame.RowsOf(graph.type(input));
    }
    rows += *frame.RowsOf(graph.output_type(node));
  }
  return rows;
}

bool HasOne(const Graph& graph, absl::Span<const NodeId> nodes, OpKind op) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId node) { return graph.node(node).op == op; });
}

}  // namespace

int64_t RowFrame::column_count() const {
  int64_t count = 1;
  for (const int64_t size : columns) count *= size;
  return count;
}

std::optional<int64_t> RowFrame::RowsOf(const TensorType& type) const {
  if (!type.known() || type.dtype != DataType::kFloat32) return std::nullopt;
  if (type.elements() == 1 && type.rank() <= rank) return 1;
  const auto behind = static_cast<int>(columns.size());
  if (type.rank() > rank || type.rank() < behind) return std::nullopt;
  if (!std::equal(columns.begin(), columns.end(), type.shape.end() - behind)) return std::nullopt;
  if (type.rank() == behind) return 1;
  const int own_axis = type.rank() - behind - 1;
  const auto before = type.shape.begin();
  if (!std::all_of(before, before + own_axis, [](int64_t size) { return size == 1; })) {
    return std::nullopt;
  }
  return type.shape[own_axis];
}

std::optional<RowFrame> FrameOf(const Graph& graph, absl::Span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    if (graph.node(node).op == OpKind::kSplit) return FrameOfSplit(graph, node);
  }
  return std::nullopt;
}

std::vector<NodeId> GrowRecurrence(const Graph& graph, NodeId node) {
  const std::optional<RowFrame> frame = FrameAhead(graph, node);
  if (!frame.has_value() || !IsMember(graph, *frame, node)) return {};
  std::vector<NodeId> group = Convex(graph, Connected(graph, *frame, node));
  if (!HasOne(graph, group, OpKind::kConcat) || !IsRecurrence(graph, group)) return {};
  return group;
}

bool IsRecurrence(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.size() < kNodesMin || !std::is_sorted(nodes.begin(), nodes.end())) return false;
  const std::optional<RowFrame> frame = FrameOf(graph, nodes);
  if (!frame.has_value() || frame->column_count() < kHiddenMin) return false;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](NodeId node) { return IsMember(graph, *frame, node); }) &&
         RowsTogether(graph, *frame, nodes) <= kRowsMax;
}

}  // namespace plait
