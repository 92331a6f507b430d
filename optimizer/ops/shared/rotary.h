#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

constexpr size_t kRotaryCosines = 1;
constexpr size_t kRotarySines = 2;
constexpr size_t kRotaryPositions = 3;

// One RotaryEmbedding, read from its node: tokens of several heads, either [batch, heads, sequence,
// head_size] or, packed, [batch, sequence, heads * head_size].
struct RotaryShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t heads = 0;
  int64_t head_size = 0;
  bool packed = false;
  int64_t rotated = 0;       // how many of a head's elements are turned, in pairs; the others stay
  int64_t angles = 0;        // rows of a table that is read by position; 0: a row for each token
  bool interleaved = false;  // pairs are neighbours, or else as far apart as there are pairs

  // Elements from one token, and from one head, to the next.
  int64_t token_step() const { return packed ? heads * head_size : head_size; }
  int64_t head_step() const { return packed ? head_size : sequence * head_size; }
};

// `types` are those of the inputs: x, cosines, sines and, if there, positions.
// Errors: InvalidArgument for shapes that do not fit each other.
absl::StatusOr<RotaryShape> ReadRotaryShape(const Attributes& attributes,
                                            absl::Span<const TensorType> types);

// OpSpec::expand of RotaryEmbedding.
absl::StatusOr<std::vector<TensorId>> ExpandRotary(const Node& node, GraphBuilder* builder);

}  // namespace plait
