#include "optimizer/onnx/embedded_plan.h"

#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/packed_text.h"

namespace plait {

std::array<std::pair<absl::string_view, std::string>, 3> MetadataOf(const EmbeddedPlan& plan) {
  return {std::pair(kVersionKey, plan.version), std::pair(kPlanKey, PackText(plan.plan)),
          std::pair(kGraphKey, PackText(plan.graph))};
}

absl::StatusOr<std::optional<EmbeddedPlan>> ReadEmbeddedPlan(const Model& model) {
  std::optional<std::string> plan;
  std::optional<std::string> graph;
  std::optional<std::string> version;
  for (auto& [key, value] : model.metadata()) {
    if (key == kPlanKey) plan = value;
    if (key == kGraphKey) graph = value;
    if (key == kVersionKey) version = value;
  }
  // Of a plan without its graph nothing can be checked, so it is no plan.
  if (!plan || !graph || !version) return std::nullopt;
  EmbeddedPlan embedded;
  PLAIT_ASSIGN_OR_RETURN(embedded.plan, UnpackText(*plan, kGraphTextBytesMax));
  PLAIT_ASSIGN_OR_RETURN(embedded.graph, UnpackText(*graph, kGraphTextBytesMax));
  embedded.version = *std::move(version);
  return embedded;
}

}  // namespace plait
