#pragma once

#include <vector>

#include "optimizer/ops/shared/op_spec.h"

// What Softmax and LogSoftmax share: one axis, and two meanings of it. Up to opset 12 the input was
// flattened to a matrix at `axis` (default 1) and its rows were normalized; from 13 on only the
// axis itself (default -1). Both mean the same where all axes behind `axis` have one element, as in
// [batch, classes].
namespace plait {

// OpSpec::infer. Errors: InvalidArgument for an axis out of range or a type that is no float.
Types InferSoftmax(const OpCall& call);

// Maximum, difference, exponential, sum and quotient per element.
Work WorkOfSoftmax(const OpCall& call, absl::Span<const TensorType> output_types);

// OpSpec::raise. Errors: Unimplemented when a row spans several axes.
absl::Status RaiseSoftmax(VersionedNode* node);

// OpSpec::lower. Errors: Unimplemented when the axis is not the last one that is longer than 1.
absl::Status LowerSoftmax(VersionedNode* node);

// OpSpec::expand: moves the axis to the end and back.
absl::StatusOr<std::vector<TensorId>> ExpandSoftmax(const Node& node, GraphBuilder* builder);

enum class SoftmaxResult { kShares, kLogarithms };

// OpSpec::evaluate: of e[i] = exp(x[i] - m), where m is the row's maximum, so that no exponent is
// above 0 and nothing overflows: e[i] / sum(e), or its logarithm x[i] - m - log(sum(e)).
// Errors: Unimplemented in GF(p), which has no exponential.
absl::Status EvaluateSoftmax(const OpCall& call, EvalInputs inputs, EvalOutputs outputs,
                             SoftmaxResult result);

}  // namespace plait
