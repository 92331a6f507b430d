#pragma once

#include "absl/status/status.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// The element types that an operator takes, in its newest opset. Older opsets took fewer: what is
// missing there is said by OpSpec::lower.
enum class TypeSet {
  kFloat,    // float16, bfloat16, float32, float64
  kNumber,   // floats and integers
  kInteger,  // signed and unsigned, 8 to 64 bits
  kBool,
  kAny,  // numbers and bool
};

// False for string, complex and undefined, whatever the set.
bool Contains(TypeSet set, DataType dtype);

// Checks the element type of input `index`.
// Errors: InvalidArgument when it is not in `set`; Unimplemented when plait cannot compute with it
// (string, complex) or does not know it (the output of an opaque node).
absl::Status CheckDataType(const OpCall& call, size_t index, TypeSet set);

// ONNX converts nothing on its own: a sum of float32 and int64 needs a Cast.
// Errors: InvalidArgument when the inputs' element types differ. REQUIRES: both inputs are there.
absl::Status CheckSameDataType(const OpCall& call, size_t first, size_t second);

}  // namespace plait
