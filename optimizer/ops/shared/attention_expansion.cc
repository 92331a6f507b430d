#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/attention.h"
#include "optimizer/ops/shared/expansion.h"

// Attention in simpler operators: Softmax(scale * query * key^T + bias) * value, with the query
// packed, grouped or masked as the node says; or, where all that is not plain can be said by
// operators around it, a plain Attention between those. For packed [1, 128, 768] with 12 heads:
// Reshape and Transpose to [1, 12, 128, 64], MatMul to scores of [1, 12, 128, 128], Softmax along
// the last axis, MatMul back, Transpose and Reshape to what came in.

namespace plait {
namespace {

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

// The inputs as [batch, heads, sequence, size], or packed as they came where nothing is added to
// them, and what is added to the scores.
struct Parts {
  TensorId query = kNoTensor;
  TensorId key = kNoTensor;
  TensorId value = kNoTensor;
  TensorId bias = kNoTensor;
};

// Keys or values, those of a cache in front.
TensorId Present(const Node& node, size_t input, const AttentionShape& shape,
                 Expansion* expansion) {
  TensorId present = node.inputs[input];
  if (shape.packed) present = Unpack(present, shape.key_heads, expansion);
  if (!HasInput(node, input + 3)) return present;
  return expansion->Add(OpKind::kConcat, {node.inputs[input + 3], present}, {{"axis", int64_t{2}}});
}

Parts Unpacked(const Node& node, const AttentionShape& shape, Expansion* expansion) {
  Parts parts;
  parts.query = node.inputs[0];
  if (shape.packed) parts.query = Unpack(parts.query, shape.heads, expansion);
  parts.key = Present(node, 1, shape, expansion);
  parts.value = Present(node, 2, shape, expansion);
  parts.bias = AttentionBias(node, shape, expansion);
  return parts;
}

// The result as the node gives it, of [batch, heads, queries, value size].
TensorId Packed(TensorId y, const AttentionShape& shape, Expansion* expansion) {
  if (!shape.packed) return y;
  return Reshape(Transpose(y, {0, 2, 1, 3}, expansion),
                 {shape.batch, shape.queries, shape.heads * shape.value_size}, expansion);
}

// What qk_matmul_output may show.
struct Stages {
  TensorId product = kNoTensor;
  TensorId capped = kNoTensor;
  TensorId biased = kNoTensor;
  TensorId weights = kNoTensor;
};

// What softcap, bias and Softmax make of scores of [batch, heads, queries, keys].
Stages Weigh(const Node& node, TensorId scores, TensorId bias, Expansion* expansion) {
  const DataType dtype = expansion->type(scores).dtype;
  Stages stages{.product = scores, .capped = scores};
  const double softcap = node.attributes->Float("softcap", 0);
  if (softcap > 0) {
    const TensorId cap = expansion->Scalar(dtype, softcap);
    const TensorId ratio = expansion->Add(OpKind::kDiv, {scores, cap});
    stages.capped = expansion->Add(OpKind::kMul, {expansion->Add(OpKind::kTanh, {ratio}), cap});
  }
  stages.biased =
      bias == kNoTensor ? stages.capped : expansion->Add(OpKind::kAdd, {stages.capped, bias});
  stages.weights = expansion->Add(OpKind::kSoftmax, {stages.biased}, {{"axis", int64_t{3}}});
  if (bias == kNoTensor) return stages;
  // A query that may attend to no key has a row of -infinity, whose Softmax is NaN; its weights are
  // zeros by definition. Only the bias tells such a row from one that overflowed.
  const TensorId largest = expansion->Add(OpKind::kReduceMax, {bias, expansion->Ints({-1})});
  const TensorId lowest = expansion->Scalar(dtype, LowestOf(dtype));
  const TensorId excluded = expansion->Add(OpKind::kLess, {largest, lowest});
  stages.weights =
      expansion->Add(OpKind::kWhere, {excluded, expansion->Scalar(dtype, 0), stages.weights});
  return stages;
}

TensorId Shown(const Node& node, const Stages& stages) {
  switch (node.attributes->Int("qk_matmul_output_mode", 0)) {
    case 1:
      return stages.capped;
    case 2:
      return stages.biased;
    case 3:
      return stages.weights;
    default:
      return stages.product;
  }
}

// MatMul, Softmax and MatMul, and the results of all four outputs.
std::vector<TensorId> AsProducts(const Node& node, const AttentionShape& shape,
                                 Expansion* expansion) {
  const Parts parts = Unpacked(node, shape, expansion);
  // With two key heads and four query heads, heads 0 and 1 read key head 0: [batch, 4, queries,
  // size] becomes [batch, 2, 2 * queries, size], and one MatMul does both. Query heads that share a
  // key head are neighbours: together they are one longer sequence.
  const bool grouped = shape.heads != shape.key_heads;
  const int64_t rows = shape.heads / shape.key_heads * shape.queries;
  const auto group = [&](TensorId tensor, int64_t columns) {
    if (!grouped) return tensor;
    return Reshape(tensor, {shape.batch, shape.key_heads, rows, columns}, expansion);
  };
  const auto ungroup = [&](TensorId tensor, int64_t columns) {
    if (!grouped) return tensor;
    return Reshape(tensor, {shape.batch, shape.heads, shape.queries, columns}, expansion);
  };
  const DataType dtype = expansion->type(node.inputs[0]).dtype;
  const TensorId scale = expansion->Scalar(dtype, AttentionScale(*node.attributes, shape));
  // The query is scaled and not the scores, which are more.
  const TensorId scaled = expansion->Add(OpKind::kMul, {group(parts.query, shape.size), scale});
  const TensorId scores =
      expansion->Add(OpKind::kMatMul, {scaled, Transpose(parts.key, {0, 1, 3, 2}, expansion)});
  const Stages stages = Weigh(node, ungroup(scores, shape.keys), parts.bias, expansion);
  const TensorId y =
      expansion->Add(OpKind::kMatMul, {group(stages.weights, shape.keys), parts.value});
  return {Packed(ungroup(y, shape.value_size), shape, expansion), parts.key, parts.value,
          Shown(node, stages)};
}

std::vector<TensorId> AsPlain(const Node& node, const AttentionShape& shape, Expansion* expansion) {
  const Parts parts = Unpacked(node, shape, expansion);
  const double scale = AttentionScale(*node.attributes, shape);
  std::vector<TensorId> inputs = {parts.query, parts.key, parts.value};
  if (parts.bias != kNoTensor) inputs.push_back(parts.bias);
  const TensorId y =
      expansion->Add(OpKind::kAttention, std::move(inputs), {{"scale", static_cast<float>(scale)}});
  return {Packed(y, shape, expansion), parts.key, parts.value};
}

}  // namespace

absl::StatusOr<std::vector<TensorId>> ExpandAttention(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  std::vector<TensorType> types;
  for (const TensorId input : node.inputs) types.push_back(expansion.type(input));
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape, ReadAttentionShape(*node.attributes, types));
  const OpCall call{*node.attributes, types, {}, static_cast<int>(node.outputs.size())};
  const bool shows_scores = node.outputs.size() > 3 && node.outputs[3] != kNoTensor;
  const bool caps_scores = node.attributes->Float("softcap", 0) > 0;
  const bool as_products = IsPlainAttention(call) || shows_scores || caps_scores;
  std::vector<TensorId> outputs =
      as_products ? AsProducts(node, shape, &expansion) : AsPlain(node, shape, &expansion);
  outputs.resize(node.outputs.size());
  return expansion.Outputs(std::move(outputs));
}

}  // namespace plait
