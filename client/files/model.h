#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loading/file_plans.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/model.h"

namespace plait {

// ImportModelFile, whose errors say MODEL_REJECTED where the model is at fault and not the file.
absl::StatusOr<Model> ImportModel(const std::string& path);

// The shapes at which a verb looks at a model: those given, of what stays open those of the plans
// inside of it, and of what still does 1 where it counts the examples of a batch (WithBatchOfOne),
// of which each is named in `warnings`. Inputs with other open dimensions have none.
Bindings ShapesToRun(const Model& model, absl::Span<const FilePlan> plans, Bindings given,
                     std::vector<std::string>* warnings);

// The shapes given, and of what the model leaves open those of the first plan in any of the models,
// which are compared with it.
Bindings ShapesOfAny(const Model& model, absl::Span<const Model> models, Bindings given);

// The model at these shapes. Errors: those of Bind as MODEL_REJECTED, naming `path`.
absl::StatusOr<Bound> BindToRun(const std::string& path, const Model& model,
                                absl::Span<const FilePlan> plans, Bindings given,
                                std::vector<std::string>* warnings);

}  // namespace plait
