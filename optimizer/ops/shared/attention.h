#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"

// What Attention's evaluation and its expansion into older operators share: how the extents are
// read. Both compute softmax(scale * Q * K^T + mask) * V per head.
namespace plait {

// The extents of one Attention. Inputs are [batch, heads, sequence, size], or (packed) [batch,
// sequence, heads * size]. Query head h attends to key head h / (heads / key_heads).
struct AttentionShape {
  bool packed = false;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t size = 0;        // of a query's and a key's head
  int64_t value_size = 0;  // of a value's head

  // One score per query and key of each head; what a mask broadcasts to.
  Shape scores() const { return {batch, heads, queries, keys}; }
};

// From the types of query, key and value.
// Errors: InvalidArgument when they do not agree.
absl::StatusOr<AttentionShape> ReadAttentionShape(const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types);

// The factor of the scores: the attribute, or 1 / sqrt(size), which keeps the variance of a product
// of random vectors at 1.
double AttentionScale(const Attributes& attributes, const AttentionShape& shape);

// OpSpec::expand: MatMul, mask, Softmax, MatMul, with Reshape and Transpose around them where heads
// are packed or shared. Errors: as ReadAttentionShape, and those of the operators' types.
absl::StatusOr<std::vector<TensorId>> ExpandAttention(const Node& node, GraphBuilder* builder);

}  // namespace plait
