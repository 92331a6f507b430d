#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/embedded_plan.h"

namespace plait {

// A model's file with another plan in it: `kept` one after the other, then `appended`.
struct ModelWithPlan {
  std::vector<absl::string_view> kept;  // views into the model's bytes
  std::string appended;
};

// Puts a plan into a serialized ModelProto without touching anything else: all of its bytes stay as
// they are but plait's own entries of the metadata, which are taken out. So the file computes what
// the original does in every runtime, and as fast, whatever shapes it is given there.
// nullopt: the file carries no plan. `model` must outlive the result.
// Errors: InvalidArgument for bytes that are no model.
absl::StatusOr<ModelWithPlan> AttachPlan(absl::string_view model,
                                         const std::optional<EmbeddedPlan>& plan);

}  // namespace plait
