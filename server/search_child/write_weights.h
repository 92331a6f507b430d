#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/model.h"

namespace plait {

// Writes the table of a model's weights to an empty file: where in the model's bytes each one lies,
// and the bytes of those that do not lie there as a worker wants them. See Task.weights.
// Deterministic, so that equal models have one table. `bytes` is what the model was imported from.
// Errors: LIMIT_EXCEEDED when there are more weights than a worker takes; those of AppendToFile.
absl::Status WriteWeights(const Model& model, absl::string_view bytes, int file);

}  // namespace plait
