#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/embedded_plan.h"

namespace plait {

// A model's file with other plans in it: `kept` one after the other, then `appended`.
struct ModelWithPlan {
  std::vector<absl::string_view> kept;  // views into the model's bytes
  std::string appended;
};

// Puts plans into a serialized ModelProto without touching anything else: all of its bytes stay as
// they are but plait's own entries of the metadata, which are taken out. So the file computes what
// the original does in every runtime, and as fast, whatever shapes it is given there.
// Without any the file carries no plan. `model` must outlive the result.
// Errors: InvalidArgument for bytes that are no model. REQUIRES: as MetadataOf.
absl::StatusOr<ModelWithPlan> AttachPlans(absl::string_view model,
                                          absl::Span<const EmbeddedPlan> plans);

}  // namespace plait
