#pragma once

#include <limits>

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"

// What Attention's evaluation and its expansion share: how its extents are read, and which keys a
// query may attend to. Both compute softmax(scale * Q * K^T + mask) * V per head.
namespace plait {

// Less it is the score of a key that a query does not see.
inline constexpr double kScoreInfinity = std::numeric_limits<double>::infinity();

// The extents of one Attention. Inputs are [batch, heads, sequence, size], or (packed) [batch,
// sequence, heads * size]. Query head h attends to key head h / (heads / key_heads).
struct AttentionShape {
  bool packed = false;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t queries = 0;
  int64_t past = 0;        // keys of a cache, which stand before those that come in
  int64_t keys = 0;        // all of them
  int64_t size = 0;        // of a query's and a key's head
  int64_t value_size = 0;  // of a value's head

  // One score per query and key of each head; what a mask broadcasts to.
  Shape scores() const { return {batch, heads, queries, keys}; }
};

// From the types of the inputs, of which none behind the past value is looked at.
// Errors: InvalidArgument when they do not agree.
absl::StatusOr<AttentionShape> ReadAttentionShape(const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types);

// How far a query sees: of a query at place p of all keys, from p - left to p + right, where what
// is causal sees nothing to its right. Bounds are clamped to what no sequence reaches.
struct AttentionReach {
  static constexpr int64_t kUnbounded = int64_t{1} << 40;
  int64_t left = kUnbounded;
  int64_t right = kUnbounded;
};

AttentionReach ReadAttentionReach(const Attributes& attributes);

// Whether it is no more than softmax(scale * Q * K^T + mask) * V with a mask of numbers, if any, as
// wide as the keys: what kernels run. Other forms are written as that and operators around it.
bool IsPlainAttention(const OpCall& call);

// The factor of the scores: the attribute, or 1 / sqrt(size), which keeps the variance of a product
// of random vectors at 1.
double AttentionScale(const Attributes& attributes, const AttentionShape& shape);

// What is added to the scores beside them, made of the mask, the lengths of the sequences and what
// queries see: a tensor that broadcasts to the scores; kNoTensor: nothing.
TensorId AttentionBias(const Node& node, const AttentionShape& shape, Expansion* expansion);

// OpSpec::expand. What is not plain becomes a plain Attention, with Concats for its caches and a
// mask for what it may not see; a plain one, and one that shows or caps its scores, becomes MatMul,
// Softmax and MatMul. Errors: as ReadAttentionShape, and those of the operators' types.
absl::StatusOr<std::vector<TensorId>> ExpandAttention(const Node& node, GraphBuilder* builder);

}  // namespace plait
