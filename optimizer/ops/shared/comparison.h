#pragma once

#include <functional>

#include "optimizer/ops/shared/elementwise.h"

// What comparisons share. `Compare` is a standard function object: equal_to, greater, less and
// their kind, which are all false where an operand is NaN.
namespace plait {

// OpSpec::evaluate: y[i] = Compare(a[i], b[i]) with broadcasting. A field has no order, and equal
// elements do not make equal floats: in GF(p) comparisons mean nothing.
template <typename Compare>
absl::Status EvaluateComparison(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateNumberBinary(inputs, outputs, Compare{});
}

// OpSpec::lower of Greater and Less. Errors: Unimplemented for integers before opset 9.
absl::Status LowerOrder(VersionedNode* node);

// OpSpec::expand of GreaterOrEqual and LessOrEqual, which are `strict` or Equal. They are not the
// negation of the opposite order: that would hold for NaN.
absl::StatusOr<std::vector<TensorId>> ExpandOrEqual(const Node& node, OpKind strict,
                                                    GraphBuilder* builder);
template <OpKind strict>
absl::StatusOr<std::vector<TensorId>> ExpandOrEqualOf(const Node& node, GraphBuilder* builder) {
  return ExpandOrEqual(node, strict, builder);
}

}  // namespace plait
