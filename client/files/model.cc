#include "client/files/model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "loading/model_file.h"
#include "optimizer/onnx/assume_batch.h"
#include "proto/wire/error.h"

namespace plait {

absl::StatusOr<Model> ImportModel(const std::string& path) {
  absl::StatusOr<Model> model = ImportModelFile(path);
  const absl::Status& status = model.status();
  const bool is_models = absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
  if (is_models) return wire::WithReason(status, v1::ERROR_REASON_MODEL_REJECTED);
  return model;
}

Bindings ShapesToRun(const Model& model, absl::Span<const FilePlan> plans, Bindings given,
                     std::vector<std::string>* warnings) {
  std::vector<std::string> assumed;
  Bindings shapes = WithBatchOfOne(model, ShapesOfPlans(model, plans, std::move(given)), &assumed);
  for (const std::string& dimension : assumed) {
    warnings->push_back(absl::StrCat(dimension, " is open, and 1 here (--shape gives another)"));
  }
  return shapes;
}

Bindings ShapesOfAny(const Model& model, absl::Span<const Model> models, Bindings given) {
  for (const Model& other : models) {
    given = ShapesOfPlans(model, ReadFilePlans(other), std::move(given));
  }
  return given;
}

absl::StatusOr<Bound> BindToRun(const std::string& path, const Model& model,
                                absl::Span<const FilePlan> plans, Bindings given,
                                std::vector<std::string>* warnings) {
  absl::StatusOr<Bound> bound = Bind(model, ShapesToRun(model, plans, std::move(given), warnings));
  if (bound.ok()) return bound;
  return wire::WithReason(Annotate(bound.status(), path), v1::ERROR_REASON_MODEL_REJECTED);
}

}  // namespace plait
