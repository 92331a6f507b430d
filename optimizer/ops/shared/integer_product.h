#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"

// Products and convolutions of integers of 8 bits: the float operator's shapes and sums, on what is
// left when the zero points are taken off, exactly and modulo 2^32.
namespace plait {

// Checks that input `value` has 8 bits, and that input `zero_point`, if it is there, has its type.
// Errors: InvalidArgument; Unimplemented for types that plait cannot compute with.
absl::Status CheckQuantizedInput(const OpCall& call, size_t value, size_t zero_point);

// The shape in which a scale or zero point of a product's left side, of its rows, or of a
// convolution's channels is broadcast: one for each index of an axis with `inner` axes behind it.
// What has one element, or more axes than one, is broadcast as it is.
Shape AlongAxis(const Shape& shape, int inner);

// Errors: InvalidArgument naming input `index` when `from` does not broadcast to `to`.
absl::Status CheckBroadcast(const Shape& from, const Shape& to, size_t index);

// The type that `spec` (MatMul or Conv) gives for inputs of these shapes, with the element type
// `dtype`.
// Errors: those of its infer.
Types InferProduct(const OpSpec& spec, const Attributes& attributes,
                   absl::Span<const TensorType> inputs, DataType dtype);

// The work of `spec` with these inputs, and with as many bytes as the call moves.
Work WorkOfProduct(const OpSpec& spec, const OpCall& call, absl::Span<const TensorType> inputs,
                   absl::Span<const TensorType> output_types);

// The integers of an input less its zero point (nullptr: 0), which is broadcast in shape `shape`.
EvalTensor WithoutZeroPoint(const EvalTensor& input, const EvalTensor* zero_point,
                            const Shape& shape);

// What `spec` makes of integers, as int32. The last input may be a bias.
absl::StatusOr<std::vector<int64_t>> MultiplyIntegers(const OpSpec& spec,
                                                      const Attributes& attributes,
                                                      const std::vector<EvalTensor>& inputs,
                                                      const Shape& shape);

// A scale or zero point for each element of a result.
struct BroadcastInput {
  const EvalTensor* values;
  Shape shape;  // in which it is broadcast
};

// y = saturate(round(sums * (left scale * right scale / scale)) + zero point), in float32.
struct Requantization {
  BroadcastInput left_scale;
  BroadcastInput right_scale;
  BroadcastInput scale;
  BroadcastInput zero_point;
};
absl::Status Requantize(const std::vector<int64_t>& sums, const Requantization& by, EvalTensor* y);

}  // namespace plait
