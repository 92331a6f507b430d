#include "optimizer/onnx/embedded_plan.h"

#include <utility>

namespace plait {

std::optional<EmbeddedPlan> ReadEmbeddedPlan(const Model& model) {
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
  return EmbeddedPlan{*std::move(plan), *std::move(graph), *std::move(version)};
}

}  // namespace plait
