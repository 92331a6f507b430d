#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/limits.h"
#include "optimizer/onnx/model.h"

namespace plait {

// The keys of plait's own entries in metadata_props. Those of the first plan stand as they are, so
// that programs which know one plan only find it; further ones have ".1", ".2" and so on behind.
constexpr absl::string_view kMetadataPrefix = "plait.";
constexpr absl::string_view kPlanKey = "plait.plan";
constexpr absl::string_view kGraphKey = "plait.graph";
constexpr absl::string_view kVersionKey = "plait.version";
constexpr absl::string_view kRewritesKey = "plait.rewrites";
constexpr absl::string_view kOriginalKey = "plait.original";

// What an exported model carries for plait's own runtime; other runtimes ignore it, and a tool that
// changes the model invalidates it without knowing: the plan is bound to the hash of its own graph,
// and to that of what this was made from.
struct EmbeddedPlan {
  std::string plan;     // the text form of a Plan
  std::string graph;    // the text form of the graph that the plan is for
  std::string version;  // of the engine that wrote both
  // How the graph was rewritten (PrintRecipe), to do it again at other shapes; "": it was not, or
  // nobody knows.
  std::string rewrites = {};
  // The fingerprint of the model at the plan's shapes, or of the part of it that the plan is for,
  // before anything was rewritten; "": nobody knows.
  std::string original = {};
};

// Key and value of each entry of the metadata that carries the plans, their texts packed. A graph
// that several plans are for is there once: the others name the number of the plan that has it.
// REQUIRES: at most kPlansPerModelMax plans.
std::vector<std::pair<std::string, std::string>> MetadataOf(absl::Span<const EmbeddedPlan> plans);

// What the packed texts of one plan may take of a file of so many bytes: 256 KiB, or 3 % of a large
// one.
int64_t PlanBytesMax(int64_t file_bytes);

// How large the plans inside a model may be.
struct EmbeddedPlanLimits {
  int64_t text_bytes_max = kGraphTextBytesMax;   // of one text, unpacked
  int64_t texts_bytes_max = kPlanTextsBytesMax;  // of all of them together
  // Of the texts of one plan as they are in the file, with a graph that it shares.
  int64_t packed_bytes_max = std::numeric_limits<int64_t>::max();
};

// The plans inside a model, in order; the first one that lacks one of its three entries ends them:
// what says how a graph was rewritten, and of what, may be missing.
// The texts may come from anyone: their parsers check them. A plan whose texts are not packed as
// they should be has an error of its own: InvalidArgument; ResourceExhausted beyond a limit.
// Errors: ResourceExhausted above kPlansPerModelMax.
absl::StatusOr<std::vector<absl::StatusOr<EmbeddedPlan>>> ReadEmbeddedPlans(
    const Model& model, const EmbeddedPlanLimits& limits = {});

}  // namespace plait
