#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

// What ScatterND and ScatterElements share: inputs are data, indices and updates, and an update
// replaces what stands in its place, or meets it.
namespace plait {

constexpr size_t kScatterIndices = 1;
constexpr size_t kScatterUpdates = 2;

// How an update meets what stands in its place.
enum class Meeting { kReplace, kAdd, kMul, kMax, kMin };

// Errors: InvalidArgument for another word.
absl::StatusOr<Meeting> MeetingOf(const Attributes& attributes);

// Checks the attribute and the element types of all three inputs.
// Errors: as MeetingOf and CheckDataType; Unimplemented for a reduction of bools, of which ONNX
// does not say what they are.
absl::Status CheckScatter(const OpCall& call);

// OpSpec::work: every byte is moved once; an update that does not replace costs an operation per
// element.
Work WorkOfScatter(const OpCall& call, absl::Span<const TensorType> output_types);

// output = data, but slice `i` of the updates meets what stands at element places[i]. In their
// order, so that of two for one place the later one has the last word.
// Errors: Unimplemented for an order in GF(p). REQUIRES: places lie inside the data.
absl::Status EvaluateScatter(const OpCall& call, EvalInputs inputs,
                             absl::Span<const int64_t> places, EvalOutputs outputs);

// OpSpec::infer and evaluate of ScatterElements and of Scatter, its old name.
// Errors: InvalidArgument when indices and updates differ in shape, or reach beyond the data.
Types InferScatterElements(const OpCall& call);
absl::Status EvaluateScatterElements(const OpCall& call, EvalInputs inputs, EvalOutputs outputs);

// OpSpec::lower: opset 16 brought reductions by sum and product, 18 those by order.
absl::Status LowerScatter(VersionedNode* node);

}  // namespace plait
