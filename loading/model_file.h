#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/model.h"

namespace plait {

// The bytes of a regular file. Errors: NotFound, PermissionDenied, InvalidArgument for a folder,
// ResourceExhausted above kModelBytesMax, Internal; all name the file.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// A model file with the external data that it names packed into it. That data is looked for beside
// the model only, and never behind a symbolic link or under a second name, because the model may
// come from a stranger. Errors: those of ReadFile and PackExternalData, naming the model's file.
absl::StatusOr<std::string> ReadPackedModel(const std::string& path);

// ImportOnnx of ReadPackedModel for who wants the model only: on all cores, and without a second
// copy of its weights. Errors: those of both, naming the model's file.
absl::StatusOr<Model> ImportModelFile(const std::string& path);

// The same of bytes that stay the caller's, which need not outlive the call. External data are
// refused. Errors: those of ImportOnnx; ResourceExhausted without memory for a copy.
absl::StatusOr<Model> ImportModelBytes(absl::string_view bytes);

}  // namespace plait
