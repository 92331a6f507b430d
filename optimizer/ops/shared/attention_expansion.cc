#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/attention.h"
#include "optimizer/ops/shared/expansion.h"

// Attention in simpler operators: Softmax(scale * query * key^T + bias) * value, with the query
// packed, grouped or masked as the node says. For packed [1, 128, 768] with 12 heads: Reshape and
// Transpose to [1, 12, 128, 64], MatMul to scores of [1, 12, 128, 128], Softmax along the last
// axis, MatMul back, Transpose and Reshape to what came in.

namespace plait {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The least finite value: only -infinity is below it.
// float16 and bfloat16 have no limits of their own here.
double LowestOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat64:
      return std::numeric_limits<double>::lowest();
    case DataType::kFloat16:
      return -65504;
    case DataType::kBfloat16:
      return -0x1.FEp127;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

TensorId Reshape(TensorId tensor, const std::vector<int64_t>& shape, Expansion* expansion) {
  return expansion->Add(OpKind::kReshape, {tensor, expansion->Constant(Tensor::Int64s(shape))});
}

TensorId Transpose(TensorId tensor, std::vector<int64_t> permutation, Expansion* expansion) {
  return expansion->Add(OpKind::kTranspose, {tensor}, {{"perm", std::move(permutation)}});
}

// Splits [batch, sequence, heads * size] into [batch, heads, sequence, size].
// The reshape moves nothing; the transpose puts the rows of a head side by side.
TensorId Unpack(TensorId tensor, int64_t heads, Expansion* expansion) {
  const Shape shape = expansion->type(tensor).shape;
  const TensorId split = Reshape(tensor, {shape[0], shape[1], heads, shape[2] / heads}, expansion);
  return Transpose(split, {0, 2, 1, 3}, expansion);
}

// 0 where the query may attend, -infinity above the diagonal.
// A constant: shapes are known, so that the mask costs an addition and nothing else.
TensorId CausalBias(const AttentionShape& shape, DataType dtype, Expansion* expansion) {
  std::vector<double> bias(static_cast<size_t>(shape.queries * shape.keys));
  for (int64_t i = 0; i < shape.queries; ++i) {
    for (int64_t j = i + 1; j < shape.keys; ++j) bias[i * shape.keys + j] = -kInfinity;
  }
  return expansion->Constant(Tensor::FromDoubles({dtype, {shape.queries, shape.keys}}, bias));
}

// What is added to the scores; kNoTensor when nothing is.
TensorId Bias(const Node& node, const AttentionShape& shape, Expansion* expansion) {
  const DataType dtype = expansion->type(node.inputs[0]).dtype;
  TensorId bias = kNoTensor;
  if (node.inputs.size() > 3 && node.inputs[3] != kNoTensor) {
    bias = node.inputs[3];
    if (expansion->type(bias).dtype == DataType::kBool) {
      bias = expansion->Add(OpKind::kWhere, {bias, expansion->Scalar(dtype, 0),
                                             expansion->Scalar(dtype, -kInfinity)});
    }
  }
  if (node.attributes->Int("is_causal", 0) == 0) return bias;
  const TensorId causal = CausalBias(shape, dtype, expansion);
  return bias == kNoTensor ? causal : expansion->Add(OpKind::kAdd, {bias, causal});
}

// What softcap, mask and Softmax make of the scores.
// Scores as [batch, heads, queries, keys] to weights of the same shape.
TensorId Weights(const Node& node, const AttentionShape& shape, TensorId scores,
                 Expansion* expansion) {
  const DataType dtype = expansion->type(scores).dtype;
  const double softcap = node.attributes->Float("softcap", 0);
  if (softcap > 0) {
    const TensorId cap = expansion->Scalar(dtype, softcap);
    const TensorId ratio = expansion->Add(OpKind::kDiv, {scores, cap});
    scores = expansion->Add(OpKind::kMul, {expansion->Add(OpKind::kTanh, {ratio}), cap});
  }
  const TensorId bias = Bias(node, shape, expansion);
  if (bias != kNoTensor) scores = expansion->Add(OpKind::kAdd, {scores, bias});
  const TensorId weights = expansion->Add(OpKind::kSoftmax, {scores}, {{"axis", int64_t{3}}});
  if (node.inputs.size() <= 3 || node.inputs[3] == kNoTensor) return weights;
  // A query that a mask keeps from every key has a row of -infinity, whose Softmax is NaN; its
  // weights are zeros by definition. Only the bias tells such a row from one that overflowed.
  const TensorId last = expansion->Constant(Tensor::Int64s({-1}));
  const TensorId largest = expansion->Add(OpKind::kReduceMax, {bias, last});
  const TensorId lowest = expansion->Scalar(dtype, LowestOf(dtype));
  const TensorId excluded = expansion->Add(OpKind::kLess, {largest, lowest});
  return expansion->Add(OpKind::kWhere, {excluded, expansion->Scalar(dtype, 0), weights});
}

}  // namespace

absl::StatusOr<std::vector<TensorId>> ExpandAttention(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  std::vector<TensorType> types;
  for (size_t i = 0; i < 3; ++i) types.push_back(expansion.type(node.inputs[i]));
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape, ReadAttentionShape(*node.attributes, types));
  TensorId query = node.inputs[0];
  TensorId key = node.inputs[1];
  TensorId value = node.inputs[2];
  if (shape.packed) {
    query = Unpack(query, shape.heads, &expansion);
    key = Unpack(key, shape.key_heads, &expansion);
    value = Unpack(value, shape.key_heads, &expansion);
  }
  // With two key heads and four query heads, heads 0 and 1 read key head 0: [batch, 4, queries,
  // size] becomes [batch, 2, 2 * queries, size], and one MatMul does both. Query heads that share a
  // key head are neighbours: together they are one longer sequence.
  const bool grouped = shape.heads != shape.key_heads;
  const int64_t rows = shape.heads / shape.key_heads * shape.queries;
  if (grouped) {
    query = Reshape(query, {shape.batch, shape.key_heads, rows, shape.size}, &expansion);
  }
  const TensorId scale = expansion.Scalar(types[0].dtype, AttentionScale(*node.attributes, shape));
  // The query is scaled and not the scores, which are more.
  const TensorId scaled = expansion.Add(OpKind::kMul, {query, scale});
  TensorId scores =
      expansion.Add(OpKind::kMatMul, {scaled, Transpose(key, {0, 1, 3, 2}, &expansion)});
  if (grouped) {
    scores = Reshape(scores, {shape.batch, shape.heads, shape.queries, shape.keys}, &expansion);
  }
  TensorId weights = Weights(node, shape, scores, &expansion);
  if (grouped) {
    weights = Reshape(weights, {shape.batch, shape.key_heads, rows, shape.keys}, &expansion);
  }
  TensorId y = expansion.Add(OpKind::kMatMul, {weights, value});
  if (grouped) {
    y = Reshape(y, {shape.batch, shape.heads, shape.queries, shape.value_size}, &expansion);
  }
  if (shape.packed) {
    y = Reshape(Transpose(y, {0, 2, 1, 3}, &expansion),
                {shape.batch, shape.queries, shape.heads * shape.value_size}, &expansion);
  }
  return expansion.Outputs({y});
}

}  // namespace plait
