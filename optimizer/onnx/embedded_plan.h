#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
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

// Key and value of each entry of the metadata that carries the plan, its texts packed.
std::array<std::pair<absl::string_view, std::string>, 3> MetadataOf(const EmbeddedPlan& plan);

// The plan inside a model; nullopt unless the model has all three entries. The texts may come from
// anyone: their parsers check them.
// Errors: InvalidArgument for texts that are not packed as they should be; ResourceExhausted above
// kGraphTextBytesMax.
absl::StatusOr<std::optional<EmbeddedPlan>> ReadEmbeddedPlan(const Model& model);

}  // namespace plait
