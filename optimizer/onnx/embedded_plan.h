#pragma once

#include <optional>
#include <string>

#include "optimizer/onnx/model.h"

namespace plait {

// The keys of plait's own entries in metadata_props.
constexpr absl::string_view kMetadataPrefix = "plait.";
constexpr absl::string_view kPlanKey = "plait.plan";
constexpr absl::string_view kGraphKey = "plait.graph";
constexpr absl::string_view kVersionKey = "plait.version";

// What an exported model carries for plait's own runtime; other runtimes ignore it, and a tool that
// changes the model invalidates it without knowing: the plan is bound to the graph's hash.
struct EmbeddedPlan {
  std::string plan;     // the text form of a Plan
  std::string graph;    // the text form of the graph that the plan is for
  std::string version;  // of the engine that wrote both
};

// The plan inside a model; nullopt unless the model has all three entries. The texts may come from
// anyone: their parsers check them.
std::optional<EmbeddedPlan> ReadEmbeddedPlan(const Model& model);

}  // namespace plait
