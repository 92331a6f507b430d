#include "gpu_worker/backends/cpu/offers/squeeze_excite_pattern.h"

#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/op_spec.h"

// x = Relu(..), of [1, 96, 28, 28]
// m = GlobalAveragePool(x)       the pool
// v = Flatten(m)                 a view
// h = Gemm(v, a, b)              the squeeze layer, of 24 columns
// r = Relu(h)                    what follows it
// e = Gemm(r, c, d)              the excite layer, of 96 again
// s = Sigmoid(e)                 what follows that
// g = Reshape(s)                 a view: the gate, [1, 96, 1, 1]
// y = Mul(x, g)                  `multiplied`

namespace plait {
namespace {

// The product of rows that a layer is. A view may have made pixels of the images, and then the rows
// are not those that lie in memory.
std::optional<ConstantProduct> LayerProductAt(const Graph& graph, NodeId node) {
  const std::optional<ConstantProduct> product = PixelProductAt(graph, node);
  if (!product.has_value()) return ConstantProductAt(graph, node);
  const Shape& input = graph.input_type(node, 0).shape;
  return input[2] * input[3] == 1 ? product : std::nullopt;
}

// Walks from a value to its only reader.
class Walk {
 public:
  Walk(const Graph& graph, NodeId pool) : graph_(graph) {
    nodes_.push_back(pool);
    value_ = graph.node(pool).outputs[0];
  }

  TensorId value() const { return value_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }

  // kNoNode: there is none, or others see the value too.
  NodeId Reader() const {
    if (!graph_.has_single_use(value_) || graph_.is_output(value_)) return kNoNode;
    const NodeId reader = graph_.users(value_)[0];
    return HasEnds(graph_, reader) && graph_.node(reader).inputs[0] == value_ ? reader : kNoNode;
  }

  void SkipViews() {
    for (;;) {
      const NodeId reader = Reader();
      if (reader == kNoNode || !HasTraits(graph_.node(reader).op, kView)) return;
      if (!HasOneOutput(graph_.node(reader))) return;
      Take({reader}, graph_.node(reader).outputs[0]);
    }
  }

  // Of `rows` rows of so many numbers.
  std::optional<SqueezeExcitePattern::Layer> TakeLayer(int64_t rows, int64_t depth) {
    const NodeId node = Reader();
    if (node == kNoNode) return std::nullopt;
    const std::optional<ConstantProduct> shape = LayerProductAt(graph_, node);
    if (!shape.has_value() || shape->rows != rows || shape->depth != depth) return std::nullopt;
    SqueezeExcitePattern::Layer layer{.node = node, .shape = *shape};
    Take({node}, graph_.node(node).outputs[0]);
    while (const auto next = NextPostOperation(graph_, value_, ChannelAxisOf(graph_, node))) {
      if (ReadsTensor(graph_, *next)) break;
      layer.after.operations.push_back(*next);
      Take(next->nodes, next->result);
    }
    layer.after.result = value_;
    return layer;
  }

 private:
  void Take(absl::Span<const NodeId> nodes, TensorId result) {
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    value_ = result;
  }

  const Graph& graph_;
  std::vector<NodeId> nodes_;
  TensorId value_;
};

bool IsPooled(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kGlobalAveragePool}) && AllFloat32(graph, node) &&
         IsSpatial(graph, node) && graph.input_type(node, 0).shape[1] >= kLoopChannelsMin;
}

// The node that multiplies the image by the gate, and is all that reads it.
NodeId Multiplied(const Graph& graph, TensorId image, TensorId gate) {
  if (!graph.has_single_use(gate) || graph.is_output(gate)) return kNoNode;
  const NodeId id = graph.users(gate)[0];
  const Node& node = graph.node(id);
  const Shape& shape = graph.type(image).shape;
  if (node.op != OpKind::kMul || graph.type(gate).shape != Shape({shape[0], shape[1], 1, 1})) {
    return kNoNode;
  }
  const bool reads_both = (node.inputs[0] == image && node.inputs[1] == gate) ||
                          (node.inputs[1] == image && node.inputs[0] == gate);
  return reads_both ? id : kNoNode;
}

}  // namespace

std::optional<SqueezeExcitePattern> SqueezeExciteAt(const Graph& graph, NodeId node) {
  if (!IsPooled(graph, node)) return std::nullopt;
  const TensorId image = graph.node(node).inputs[0];
  const Shape& shape = graph.type(image).shape;
  SqueezeExcitePattern pattern{.pool = node};
  Walk walk(graph, node);
  walk.SkipViews();
  std::optional<SqueezeExcitePattern::Layer> squeeze = walk.TakeLayer(shape[0], shape[1]);
  if (!squeeze.has_value()) return std::nullopt;
  pattern.squeeze = *std::move(squeeze);
  walk.SkipViews();
  std::optional<SqueezeExcitePattern::Layer> excite =
      walk.TakeLayer(shape[0], pattern.squeeze.shape.columns);
  if (!excite.has_value() || excite->shape.columns != shape[1]) return std::nullopt;
  pattern.excite = *std::move(excite);
  walk.SkipViews();
  pattern.gate = walk.value();
  pattern.nodes = walk.nodes();
  std::sort(pattern.nodes.begin(), pattern.nodes.end());
  pattern.multiplied = Multiplied(graph, image, pattern.gate);
  return pattern;
}

std::vector<NodeId> WholeSqueezeExcite(const SqueezeExcitePattern& pattern) {
  std::vector<NodeId> nodes = pattern.nodes;
  nodes.push_back(pattern.multiplied);  // behind all that it waits for
  return nodes;
}

std::optional<SqueezeExcitePattern> ParseSqueezeExcite(const Graph& graph,
                                                       absl::Span<const NodeId> nodes) {
  if (nodes.empty()) return std::nullopt;
  std::optional<SqueezeExcitePattern> pattern = SqueezeExciteAt(graph, nodes[0]);
  if (!pattern.has_value()) return std::nullopt;
  const auto are = [&](const std::vector<NodeId>& others) {
    return std::equal(nodes.begin(), nodes.end(), others.begin(), others.end());
  };
  if (pattern->multiplied != kNoNode && are(WholeSqueezeExcite(*pattern))) return pattern;
  if (!are(pattern->nodes)) return std::nullopt;
  pattern->multiplied = kNoNode;
  return pattern;
}

}  // namespace plait
