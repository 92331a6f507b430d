#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/tensor.h"

namespace plait {

// A tensor as it lies in a file "input_0.pb": a serialized TensorProto.
struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

// Reads such a file; the bytes may come from anyone and are copied.
// Errors: InvalidArgument when the bytes are no tensor, do not fill its shape, or it is of an
// element type that the IR lacks.
absl::StatusOr<NamedTensor> ReadTensorFile(absl::string_view bytes);

// The inverse; ONNX's own tools read the result.
// Errors: ResourceExhausted above kModelBytesMax.
absl::StatusOr<std::string> WriteTensorFile(const NamedTensor& tensor);

}  // namespace plait
