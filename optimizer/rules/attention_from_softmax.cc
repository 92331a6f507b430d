#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/permutation.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// What stands in front of the softmax: q k^T, scaled by a constant, plus a mask.
struct Scores {
  NodeId product = kNoNode;
  double scale = 1;
  TensorId mask = kNoTensor;
};

std::optional<Scores> ReadScores(const Graph& graph, NodeId softmax) {
  Scores scores;
  NodeId node = softmax;
  int index = 0;
  if (const NodeId add = SoleProducerOf(graph, node, 0, OpKind::kAdd); add != kNoNode) {
    // The side that leads to the product carries a scale or is the product itself.
    const auto is_score = [&](int i) {
      return SoleProducerOf(graph, add, i, OpKind::kMatMul) != kNoNode ||
             SoleProducerOf(graph, add, i, OpKind::kMul) != kNoNode ||
             SoleProducerOf(graph, add, i, OpKind::kDiv) != kNoNode;
    };
    index = is_score(0) ? 0 : 1;
    scores.mask = graph.node(add).inputs[1 - index];
    node = add;
  }
  for (OpKind op : {OpKind::kMul, OpKind::kDiv}) {
    const NodeId scale = SoleProducerOf(graph, node, index, op);
    if (scale == kNoNode) continue;
    const auto side = OneConstantInput(graph, scale);
    if (!side || (op == OpKind::kDiv && side->constant != 1)) return std::nullopt;
    const auto value = ScalarAt(graph, scale, side->constant);
    if (!value || *value <= 0) return std::nullopt;
    scores.scale = op == OpKind::kMul ? *value : 1 / *value;
    node = scale;
    index = side->other;
    break;
  }
  scores.product = SoleProducerOf(graph, node, index, OpKind::kMatMul);
  if (scores.product == kNoNode) return std::nullopt;
  return scores;
}

bool Is4dFloat(const TensorType& type) {
  return type.rank() == 4 && type.dtype == DataType::kFloat32;
}

// Attention wants equal batches, and heads of keys and values that groups of the query's share;
// MatMul would have broadcast them.
bool FitsHeads(const TensorType& key, const TensorType& value, const TensorType& query) {
  const auto batch_and_heads = [](const TensorType& type) {
    return std::make_pair(type.shape[0], type.shape[1]);
  };
  if (key.rank() != 4 || value.rank() != 4) return false;
  return batch_and_heads(key) == batch_and_heads(value) && key.shape[0] == query.shape[0] &&
         key.shape[1] > 0 && query.shape[1] % key.shape[1] == 0;
}

// Add repeats what Attention fills up with -infinity.
bool CoversKeys(const TensorType& mask, const TensorType& key) {
  return mask.rank() > 0 && mask.shape.back() == key.shape[2];
}

// Of keys or values of [batch, heads * group, rows, columns] that are [batch, heads, 1, rows,
// columns], each of whose heads was repeated for a group: those; kNoTensor for any others.
TensorId RepeatedHeads(const Graph& graph, TensorId tensor) {
  const NodeId reshape = graph.tensor(tensor).producer;
  if (reshape == kNoNode || graph.node(reshape).op != OpKind::kReshape) return kNoTensor;
  const NodeId expand = ProducerOf(graph, reshape, 0, OpKind::kExpand);
  if (expand == kNoNode) return kNoTensor;
  const TensorType& heads = graph.input_type(expand, 0);
  if (heads.rank() != 5 || heads.shape[2] != 1) return kNoTensor;
  Shape groups = heads.shape;
  groups[2] = graph.output_type(expand).shape[2];
  if (graph.output_type(expand).shape != groups) return kNoTensor;
  const Shape merged = {groups[0], groups[1] * groups[2], groups[3], groups[4]};
  return graph.type(tensor).shape == merged ? graph.node(expand).inputs[0] : kNoTensor;
}

// Heads of [batch, heads, 1, rows, columns] as Attention takes them.
TensorId WithoutGroup(const Graph& graph, TensorId heads, RewriteBuilder* builder) {
  Shape shape = graph.type(heads).shape;
  shape.erase(shape.begin() + 2);
  const std::vector<int64_t> sizes(shape.begin(), shape.end());
  return builder->Add(OpKind::kReshape, {}, {heads, builder->AddConstant(Tensor::Int64s(sizes))});
}

Rewrites MatchAttentionFromSoftmax(const Rule& rule, const Graph& graph, NodeId softmax) {
  const TensorId weights = graph.node(softmax).outputs[0];
  if (absl::c_none_of(graph.users(weights),
                      [&](NodeId reader) { return graph.node(reader).op == OpKind::kMatMul; })) {
    return {};
  }
  const auto miss = [&](NodeId at, absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, at), what); });
  };
  const int64_t axis = graph.node(softmax).attributes->Int("axis", -1);
  if (axis != -1 && axis != 3) return miss(softmax, " is not over the last of four axes");
  const NodeId mix = SoleUser(graph, weights, OpKind::kMatMul);
  if (mix == kNoNode || graph.node(mix).inputs[0] != weights) {
    return miss(softmax, " is read by more than one product with values");
  }
  const auto scores = ReadScores(graph, softmax);
  if (!scores) {
    return miss(softmax, " does not read one product, scaled by a constant, plus a mask");
  }
  const auto& [product, scale, mask] = *scores;
  const TensorId query = graph.node(product).inputs[0];
  TensorId value = graph.node(mix).inputs[1];
  const NodeId transpose = ProducerOf(graph, product, 1, OpKind::kTranspose);
  if (transpose == kNoNode)
    return miss(product, " does not multiply with keys that a Transpose gives");
  if (!Is4dFloat(graph.type(query)) || !Is4dFloat(graph.type(value))) {
    return miss(product, " is not of queries and values in float32 with four axes");
  }
  if (mask != kNoTensor && graph.type(mask).dtype != DataType::kFloat32) {
    return miss(softmax, " has a mask that is not in float32");
  }
  // The key as [batch, heads, keys, size]: undo the exchange of the last two axes.
  auto perm = PermutationOf(graph, transpose);
  if (perm.size() != 4) return {};
  std::swap(perm[2], perm[3]);
  RewriteBuilder builder(graph);
  TensorId key = graph.node(transpose).inputs[0];
  if (perm != std::vector<int64_t>{0, 1, 2, 3}) {
    key = builder.Add(OpKind::kTranspose, {{"perm", perm}}, {key});
  } else if (const auto [keys, values] =
                 std::make_pair(RepeatedHeads(graph, key), RepeatedHeads(graph, value));
             keys != kNoTensor && values != kNoTensor) {
    key = WithoutGroup(graph, keys, &builder);
    value = WithoutGroup(graph, values, &builder);
  }
  if (!FitsHeads(builder.type(key), builder.type(value), graph.type(query))) {
    return miss(product, " has keys or values whose batch or heads do not fit the queries");
  }
  if (mask != kNoTensor && !CoversKeys(graph.type(mask), builder.type(key))) {
    return miss(softmax, " has a mask that is one number for all keys");
  }
  // A layout of the key is no part of the attention: a cut may run behind it.
  builder.Spare(graph.node(transpose).outputs[0]);
  const Attributes attributes{{"scale", static_cast<float>(scale)}};
  return builder.Replace(mix,
                         builder.Add(OpKind::kAttention, attributes, {query, key, value, mask}));
}

}  // namespace

const Rule kAttentionFromSoftmax = {
    .name = "attention_from_softmax",
    .law = "MatMul(Softmax(MatMul(q, k^T) * s + m), v) = Attention(q, k, v, m, s)",
    // One kernel need not write the scores, which are the largest tensors of a transformer, to
    // memory. The search decides, since not every device has such a kernel. Keys and values that
    // were repeated for groups of heads are read as they were before.
    .root = OpKind::kSoftmax,
    .match = MatchAttentionFromSoftmax,
    // A divisor of the scores becomes a factor.
    .rounds = true,
};

}  // namespace plait
