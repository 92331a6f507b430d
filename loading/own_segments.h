#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "loading/host_runner.h"
#include "loading/late_model.h"

namespace plait {

// Host segments that plait runs itself. `piece` is a part of a graph that came from binding
// `original`, with the inputs and outputs of the segment.

// One that is bound when a run tells its sizes.
std::unique_ptr<HostSegment> MakeLateSegment(const Model& original, const Graph& piece,
                                             const PartsLoading& loading);

// One of one node, that there is a host operator for.
// Errors: those of MakeHostOperator and EvaluateConstant, naming the node.
absl::StatusOr<std::unique_ptr<HostSegment>> MakeNodeSegment(const Model& original,
                                                             const Graph& piece,
                                                             const PartsLoading& loading);

}  // namespace plait
