#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "loading/choose_plan.h"
#include "loading/file_plans.h"
#include "loading/late_model.h"
#include "loading/segmented_model.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// What a model with nodes that plait does not understand is loaded from. References must outlive
// the call, and what `loading` names what is loaded.
struct SegmentsRequest {
  const Model& model;
  const Bound& bound;
  absl::Span<const FilePlan> plans;
  PartsLoading loading;
};

// A model that is loaded in parts, and by which plans.
struct LoadedSegments {
  std::unique_ptr<SegmentedModel> model;
  PlanGrade grade = PlanGrade::kNone;     // the lowest of the islands'
  PlanReason reason = PlanReason::kNone;  // of that island
  std::string explanation;                // a sentence without its end, about all
  bool is_embedded = false;               // every island runs by a plan of the file
  int islands = 0;
  int host_nodes = 0;  // in the runner, or computed by plait itself
  int late_nodes = 0;  // that are bound when a run tells their sizes
  // Of all islands; streams, the most of one.
  int kernels = 0;
  int streams = 1;
  int reference_nodes = 0;
};

// Loads such a model: its islands (optimizer/search/segments.h) on the device, each by the best of
// the file's plans for it (ChoosePlanOfPart) or by a default plan. The nodes between them go to the
// host runner; where the program brings none, or it cannot load them, plait computes them itself if
// it can (host_nodes/host_node.h). What follows them and has no size before a run is bound in it
// (split_host_part.h). Nothing in the file says what the parts are: they follow from the model, so
// that there is nothing in it to believe.
// Errors: Unimplemented, naming a node, where neither can, and for values between parts that are no
// tensors of numbers; ResourceExhausted above kSegmentsMax and above the device's memory; those of
// the runner, naming the operators; those of LoadDefaultPlan.
// REQUIRES: HasOpaqueNodes of the graph.
absl::StatusOr<LoadedSegments> LoadSegments(const SegmentsRequest& request);

}  // namespace plait
