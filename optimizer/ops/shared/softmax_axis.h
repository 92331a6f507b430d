#pragma once

#include <vector>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// What Softmax and LogSoftmax share: one axis, and two meanings of it. Up to opset 12 the input was
// flattened to a matrix at `axis` (default 1) and its rows were normalized; from 13 on only the
// axis itself (default -1).

// OpSpec::infer.
absl::StatusOr<std::vector<TensorType>> InferSoftmax(const OpCall& call);

// Maximum, difference, exponential, sum and quotient per element.
Work WorkOfSoftmax(const OpCall& call, absl::Span<const TensorType> output_types);

// OpSpec::raise. Errors: Unimplemented when a row spans several axes.
absl::Status RaiseSoftmax(VersionedNode* node);

// OpSpec::lower. Errors: Unimplemented when the axis is not the last one that is longer than 1.
absl::Status LowerSoftmax(VersionedNode* node);

// OpSpec::expand: moves the axis to the end and back.
absl::StatusOr<std::vector<TensorId>> ExpandSoftmax(const Node& node, GraphBuilder* builder);

// Calls visit(first, step, count) for the elements first + i * step, i < count, of each row along
// `axis` of `type`.
template <typename Visit>
void ForEachRow(const TensorType& type, int axis, Visit visit) {
  const int64_t count = type.shape[axis];
  int64_t step = 1;
  for (int i = axis + 1; i < type.rank(); ++i) step *= type.shape[i];
  if (count == 0 || step == 0) return;
  const int64_t blocks = type.elements() / (count * step);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < step; ++i) visit(block * count * step + i, step, count);
  }
}

}  // namespace plait
