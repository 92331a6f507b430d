#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/tensor.h"

namespace plait {

// Reads a file of numpy's NPY format, version 1, 2 or 3 (NEP 1): little-endian numbers and bools,
// in C or Fortran order. The bytes may come from anyone; nothing in them is evaluated.
// Errors: InvalidArgument naming what is wrong; Unimplemented for element types that the IR lacks.
// The tensor is in C order whatever the file's was. Its size is compared with the number of bytes
// before anything is copied.
absl::StatusOr<Tensor> ReadNpy(absl::string_view bytes);

// Writes version 1, in C order. Errors: Unimplemented for bfloat16, which numpy does not have.
// The data begins at a multiple of 64 bytes, as numpy writes it.
absl::StatusOr<std::string> WriteNpy(const Tensor& tensor);

}  // namespace plait
