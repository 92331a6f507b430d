#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// A text in the form in which a model's metadata carries it: compressed, in printable characters,
// because ONNX's strings are UTF-8. Equal texts and libraries give equal results. Pure, as the
// function below.
std::string PackText(absl::string_view text);

// The inverse. The packed form may come from anyone.
// Errors: InvalidArgument for what is no packed text; ResourceExhausted for more than `bytes_max`
// bytes of text, of which no more are held. REQUIRES: bytes_max is below 1 GiB.
absl::StatusOr<std::string> UnpackText(absl::string_view packed, int64_t bytes_max);

}  // namespace plait
