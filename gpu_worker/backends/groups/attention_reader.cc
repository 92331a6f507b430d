#include "gpu_worker/backends/groups/attention_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/kernels/kernel.h"
#include "optimizer/ops/shared/attention.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

bool IsFloat32(const Graph& graph, TensorId tensor) {
  return graph.type(tensor).dtype == DataType::kFloat32;
}

// A single positive number among the constants.
std::optional<float> NumberOf(const Graph& graph, NodeId node, int input) {
  const Tensor* const value = graph.inline_constant(node, input);
  if (value == nullptr || value->elements() != 1 || value->type().dtype != DataType::kFloat32) {
    return std::nullopt;
  }
  const float number = value->at<float>(0);
  return std::isfinite(number) && number > 0 ? std::optional<float>(number) : std::nullopt;
}

StridedView WithAxes(const StridedView& view, std::initializer_list<size_t> axes) {
  StridedView result{view.offset, {}, {}};
  for (const size_t axis : axes) {
    result.shape.push_back(view.shape[axis]);
    result.strides.push_back(view.strides[axis]);
  }
  return result;
}

// An axis of `outer` times as many as `inner` elements becomes two.
void SplitAxis(size_t axis, int64_t outer, StridedView* view) {
  const int64_t inner = view->shape[axis] / outer;
  const int64_t stride = view->strides[axis];
  view->shape[axis] = outer;
  view->strides[axis] = stride * inner;
  view->shape.insert(view->shape.begin() + static_cast<int64_t>(axis) + 1, inner);
  view->strides.insert(view->strides.begin() + static_cast<int64_t>(axis) + 1, stride);
}

// Of query, key, value or result of an Attention as [batch, key heads, group, rows, columns]: heads
// of a group share their key and value.
StridedView HeadsOf(StridedView view, int64_t heads, int64_t key_heads) {
  if (view.shape.size() == 3) {
    SplitAxis(2, heads, &view);
    view = WithAxes(view, {0, 2, 1, 3});
  }
  SplitAxis(1, key_heads, &view);
  return view;
}

// The same numbers for every head of a group.
void Repeat(int64_t group, StridedView* view) {
  view->shape[2] = group;
  view->strides[2] = 0;
}

// A mask broadcast to `scores`, whose last axis it has.
std::optional<StridedView> Broadcast(const TensorType& type, const Shape& scores) {
  const int missing = static_cast<int>(scores.size()) - type.rank();
  if (missing < 0 || type.rank() < 1 || type.shape.back() != scores.back()) return std::nullopt;
  const StridedView view = ViewOf(type, Format::kPlain);
  StridedView result{0, scores, Shape(scores.size(), 0)};
  for (int axis = 0; axis < type.rank(); ++axis) {
    if (type.shape[axis] == 1) continue;
    if (type.shape[axis] != scores[missing + axis]) return std::nullopt;
    result.strides[missing + axis] = view.strides[axis];
  }
  // A row of the mask is a row of scores, also where it has one element.
  result.strides.back() = 1;
  return result;
}

bool IsReshape(const Graph& graph, NodeId node) {
  return HasTraits(graph.node(node).op, kView) && ReshapesOrTransposes(graph, node);
}

// Whether the tensor is made of a product by what may stand between it and the Softmax.
bool LeadsToProduct(const Graph& graph, TensorId tensor, int step) {
  const NodeId producer = graph.tensor(tensor).producer;
  if (producer == kNoNode || step > kStepsToScores) return false;
  const Node& node = graph.node(producer);
  if (node.op == OpKind::kMatMul) return true;
  if (const std::optional<Factor> factor = FactorOf(graph, producer)) {
    return LeadsToProduct(graph, factor->tensor, step + 1);
  }
  if (IsReshape(graph, producer)) return LeadsToProduct(graph, node.inputs[0], step + 1);
  return node.op == OpKind::kAdd && (LeadsToProduct(graph, node.inputs[0], step + 1) ||
                                     LeadsToProduct(graph, node.inputs[1], step + 1));
}

bool SameHeads(const StridedView& a, const StridedView& b) {
  return a.shape.size() == b.shape.size() && a.shape.size() >= 2 &&
         std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin());
}

}  // namespace

std::optional<Factor> FactorOf(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  const bool divides = n.op == OpKind::kDiv;
  if ((n.op != OpKind::kMul && !divides) || n.inputs.size() != 2) return std::nullopt;
  for (const int side : {1, 0}) {
    const std::optional<float> number = NumberOf(graph, node, side);
    if (!number.has_value() || (divides && side == 0)) continue;
    const TensorId tensor = n.inputs[1 - side];
    if (graph.type(tensor) != graph.output_type(node) || !IsFloat32(graph, tensor)) continue;
    return Factor{tensor, divides ? 1 / *number : *number};
  }
  return std::nullopt;
}

bool ReshapesOrTransposes(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  return (op == OpKind::kTranspose || HasTraits(op, kView)) && HasEnds(graph, node) &&
         HasOneOutput(graph.node(node));
}

bool MovesByStrides(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  if (op == OpKind::kSplit || op == OpKind::kGather) return HasEnds(graph, node);
  return ReshapesOrTransposes(graph, node);
}

std::optional<size_t> SideOfScores(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  if (const std::optional<Factor> factor = FactorOf(graph, node)) {
    return n.inputs[0] == factor->tensor ? 0 : 1;
  }
  if (IsReshape(graph, node)) return 0;
  if (n.op != OpKind::kAdd) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const TensorId input = n.inputs[side];
    if (graph.type(input) == graph.output_type(node) && LeadsToProduct(graph, input, 1)) {
      return side;
    }
  }
  return std::nullopt;
}

std::optional<StridedRead> ReadBackwards(const Graph& graph, TensorId tensor,
                                         absl::FunctionRef<bool(NodeId)> is_inside,
                                         NodeId* blocked) {
  std::vector<std::pair<NodeId, size_t>> path;  // nodes with the output that is read, backwards
  StridedRead read;
  for (NodeId node = graph.tensor(tensor).producer; node != kNoNode && is_inside(node);
       node = graph.tensor(tensor).producer) {
    read.nodes.push_back(node);
    if (const std::optional<Factor> factor = FactorOf(graph, node)) {
      read.factor *= factor->number;
      tensor = factor->tensor;
      continue;
    }
    *blocked = node;
    if (!MovesByStrides(graph, node)) return std::nullopt;
    const auto& outputs = graph.node(node).outputs;
    path.emplace_back(node, std::find(outputs.begin(), outputs.end(), tensor) - outputs.begin());
    tensor = graph.node(node).inputs[0];
  }
  read.tensor = tensor;
  read.view = ViewOf(graph.type(tensor), Format::kPlain);
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    *blocked = step->first;
    std::optional<StridedView> view = ViewThrough(graph, step->first, step->second, read.view);
    if (!view.has_value()) return std::nullopt;
    read.view = *std::move(view);
  }
  return read;
}

std::optional<StridedView> WrittenBehind(const Graph& graph, TensorId tensor,
                                         absl::Span<const NodeId> behind) {
  const TensorId last = behind.empty() ? tensor : graph.node(behind.back()).outputs[0];
  std::optional<StridedView> view = ViewOf(graph.type(last), Format::kPlain);
  for (auto node = behind.rbegin(); node != behind.rend() && view.has_value(); ++node) {
    view = ViewBefore(graph, *node, *view);
  }
  return view;
}

bool AttentionReader::IsInside(NodeId node) const {
  return std::binary_search(nodes_.begin(), nodes_.end(), node);
}

NodeId AttentionReader::FindCore() const {
  for (const NodeId node : nodes_) {
    const OpKind op = graph_.node(node).op;
    if (op == OpKind::kSoftmax || op == OpKind::kAttention) return node;
  }
  return kNoNode;
}

std::optional<AttentionPattern> AttentionReader::Run() {
  const NodeId core = FindCore();
  if (core == kNoNode || !AllFloat32(graph_, core)) return std::nullopt;
  read_.insert(core);
  const bool is_read =
      graph_.node(core).op == OpKind::kAttention ? ReadAttention(core) : ReadProducts(core);
  if (!is_read || !IsWhole()) return std::nullopt;
  return std::move(pattern_);
}

// Without what changes the scores between the two products.
bool AttentionReader::ReadAttention(NodeId core) {
  const Node& node = graph_.node(core);
  const Attributes& attributes = *node.attributes;
  std::vector<TensorType> types;
  for (const TensorId input : node.inputs) {
    types.push_back(input == kNoTensor ? TensorType() : graph_.type(input));
  }
  if (!HasOneOutput(node) || !IsPlainAttention({attributes, types, {}})) return false;
  const absl::StatusOr<AttentionShape> shape = ReadAttentionShape(attributes, types);
  if (!shape.ok()) return false;
  const int64_t group = shape->heads / shape->key_heads;
  pattern_.scale = static_cast<float>(AttentionScale(attributes, *shape));
  pattern_.hides_masked_rows = true;
  const auto query = Read(node.inputs[0]);
  const auto key = Read(node.inputs[1]);
  const auto value = ReadUnscaled(node.inputs[2]);
  const auto result = Written(node.outputs[0]);
  if (!query || !key || !value || !result) return false;
  pattern_.query = {query->tensor, HeadsOf(query->view, shape->heads, shape->key_heads)};
  pattern_.key = {key->tensor, HeadsOf(key->view, shape->key_heads, shape->key_heads)};
  pattern_.value = {value->tensor, HeadsOf(value->view, shape->key_heads, shape->key_heads)};
  pattern_.result = {result->tensor, HeadsOf(result->view, shape->heads, shape->key_heads)};
  Repeat(group, &pattern_.key.view);
  Repeat(group, &pattern_.value.view);
  if (node.inputs.size() < 4 || node.inputs[3] == kNoTensor) return true;
  if (!AddMask(node.inputs[3], shape->scores(), {})) return false;
  SplitAxis(1, shape->key_heads, &pattern_.masks[0].view);
  return true;
}

bool AttentionReader::ReadProducts(NodeId softmax) {
  const Node& node = graph_.node(softmax);
  const int rank = graph_.input_type(softmax, 0).rank();
  NodeId product = kNoNode;
  if (rank < 2 || AxisOf(graph_, softmax, -1) != rank - 1 || !ReadScores(softmax, &product)) {
    return false;
  }
  const absl::Span<const NodeId> users = graph_.users(node.outputs[0]);
  if (users.size() != 1 || !IsInside(users[0])) return false;
  const Node& mix = graph_.node(users[0]);
  if (mix.op != OpKind::kMatMul || mix.inputs[0] != node.outputs[0]) return false;
  read_.insert({product, users[0]});
  const auto query = Read(graph_.node(product).inputs[0]);
  const auto key = Read(graph_.node(product).inputs[1]);
  const auto value = ReadUnscaled(mix.inputs[1]);
  const auto result = Written(mix.outputs[0]);
  if (!query || !key || !value || !result) return false;
  pattern_.query = *query;
  pattern_.key = *key;
  pattern_.value = *value;
  pattern_.result = *result;
  // [.., size, keys] as it is multiplied.
  StridedView& transposed = pattern_.key.view;
  const size_t axes = transposed.shape.size();
  if (axes < 2) return false;
  std::swap(transposed.shape[axes - 1], transposed.shape[axes - 2]);
  std::swap(transposed.strides[axes - 1], transposed.strides[axes - 2]);
  return true;
}

// From the Softmax backwards: masks are met before factors. Scores may get another shape for a mask
// (a window's), and their own one back.
bool AttentionReader::ReadScores(NodeId softmax, NodeId* product) {
  TensorId scores = graph_.node(softmax).inputs[0];
  const Shape shape = graph_.type(scores).shape;
  std::vector<NodeId> reshapes;  // in the graph's order
  for (int step = 0; step < kStepsToScores; ++step) {
    const NodeId node = graph_.tensor(scores).producer;
    if (node == kNoNode || !IsInside(node)) return false;
    if (graph_.node(node).op == OpKind::kMatMul) {
      *product = node;
      return graph_.type(scores).shape == shape;
    }
    const std::optional<size_t> side = SideOfScores(graph_, node);
    if (!side.has_value()) return false;
    read_.insert(node);
    if (const std::optional<Factor> factor = FactorOf(graph_, node)) {
      pattern_.scale *= factor->number;
    } else if (IsReshape(graph_, node)) {
      reshapes.insert(reshapes.begin(), node);
    } else if (pattern_.scale != 1 || !AddMask(graph_.node(node).inputs[1 - *side],
                                               graph_.output_type(node).shape, reshapes)) {
      return false;
    }
    scores = graph_.node(node).inputs[*side];
  }
  return false;
}

std::optional<AttentionPattern::Matrices> AttentionReader::Read(TensorId tensor) {
  NodeId blocked = kNoNode;
  const auto is_inside = [&](NodeId node) { return IsInside(node); };
  std::optional<StridedRead> read = ReadBackwards(graph_, tensor, is_inside, &blocked);
  if (!read.has_value() || !IsFloat32(graph_, read->tensor)) return std::nullopt;
  pattern_.scale *= read->factor;
  read_.insert(read->nodes.begin(), read->nodes.end());
  return AttentionPattern::Matrices{read->tensor, std::move(read->view)};
}

std::optional<AttentionPattern::Matrices> AttentionReader::ReadUnscaled(TensorId tensor) {
  const float scale = std::exchange(pattern_.scale, 1.0f);
  std::optional<AttentionPattern::Matrices> read = Read(tensor);
  const float factor = std::exchange(pattern_.scale, scale);
  return factor == 1 ? read : std::nullopt;
}

std::optional<AttentionPattern::Matrices> AttentionReader::Written(TensorId tensor) {
  std::vector<NodeId> behind;
  TensorId last = tensor;
  while (graph_.users(last).size() == 1 && IsInside(graph_.users(last)[0])) {
    const NodeId next = graph_.users(last)[0];
    if (!ReshapesOrTransposes(graph_, next)) return std::nullopt;
    behind.push_back(next);
    last = graph_.node(next).outputs[0];
  }
  std::optional<StridedView> view = WrittenBehind(graph_, tensor, behind);
  if (!view.has_value()) return std::nullopt;
  read_.insert(behind.begin(), behind.end());
  return AttentionPattern::Matrices{last, *std::move(view)};
}

bool AttentionReader::AddMask(TensorId mask, const Shape& scores, absl::Span<const NodeId> behind) {
  const NodeId producer = graph_.tensor(mask).producer;
  if (!IsFloat32(graph_, mask) || (producer != kNoNode && IsInside(producer))) return false;
  std::optional<StridedView> view = Broadcast(graph_.type(mask), scores);
  for (const NodeId node : behind) {
    if (view.has_value()) view = ViewThrough(graph_, node, 0, *view);
  }
  if (!view.has_value()) return false;
  pattern_.masks.push_back({mask, *std::move(view)});
  return true;
}

// Nothing is left over, only the result is seen from outside, and matrices fit each other and have
// elements. Rows of queries and results are read and written as they lie.
bool AttentionReader::IsWhole() const {
  const std::vector<TensorId> outputs = OutputsOf(graph_, nodes_);
  if (read_.size() != nodes_.size() || outputs.size() != 1) return false;
  if (outputs[0] != pattern_.result.tensor) return false;
  const StridedView& query = pattern_.query.view;
  const StridedView& key = pattern_.key.view;
  const StridedView& value = pattern_.value.view;
  const StridedView& result = pattern_.result.view;
  if (!SameHeads(query, key) || !SameHeads(query, value) || !SameHeads(query, result)) {
    return false;
  }
  for (const StridedView* view : {&query, &key, &value, &result}) {
    if (ElementsOf(view->shape) == 0) return false;  // no kernel multiplies nothing
  }
  for (const AttentionPattern::Matrices& mask : pattern_.masks) {
    if (!SameHeads(query, mask.view) || mask.view.strides.back() != 1) return false;
  }
  const auto is_row = [](const StridedView& view) {
    return view.strides.back() == 1 || view.shape.back() == 1;
  };
  return is_row(query) && is_row(result);
}

}  // namespace plait
