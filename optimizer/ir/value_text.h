#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "optimizer/ir/attributes.h"
#include "optimizer/ir/text_scanner.h"

namespace plait {

// The text of types, tensors and attributes: the parts of the text form that lie within a line.
// Each pair is an inverse of the other, to the bit. Errors (of all): InvalidArgument saying what
// was expected.

// "float32[1,3]" or "undefined".
absl::StatusOr<TensorType> ParseType(TextScanner* scanner);

// "[1, 2.5, 0x7fc00000]": decimal where that keeps every bit, the bits where not (NaNs); `raw
// "..."`, in base 64, for tensors of more than 32 elements or without numbers.
void AppendTensor(const Tensor& tensor, std::string* text);
absl::StatusOr<Tensor> ParseTensor(const TensorType& type, TextScanner* scanner);

// "{axis=1, epsilon=1e-05}"; "{}" when there are none. Besides numbers, strings and lists of them:
// `floats[]` and `strings[]` (empty lists), `tensor float32[1] [2]`, `opaque "<base 64>"`.
void AppendAttributes(const Attributes& attributes, std::string* text);
absl::StatusOr<Attributes> ParseAttributes(TextScanner* scanner);

}  // namespace plait
