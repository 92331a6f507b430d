#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// Well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates.
bool IsUtf8(absl::string_view text);

// Names go into reports, logs and the text form: all names of nodes, values, operators, attributes
// and metadata, those of subgraphs included, must be UTF-8.
// Errors: InvalidArgument saying which kind of name is not.
absl::Status CheckNames(const onnx::ModelProto& model);

}  // namespace plait
