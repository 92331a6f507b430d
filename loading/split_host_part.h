#pragma once

#include <vector>

#include "absl/status/status.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/search/region.h"

namespace plait {

// A piece of a host segment (optimizer/search/segments.h).
struct HostPart {
  Region region;
  // It is bound when a run tells the sizes (late_model.h); or it runs as it is.
  bool is_late = false;
};

// Cuts a host segment, in an order in which each part reads only what is there before it.
//   with a runner: what that runs, which is all but the convolutions, products and recurrences that
//     read what has no size yet and what follows those; then the rest, which is late
//   without one: each node that plait computes by itself (host_nodes/host_node.h), and what lies
//     between, which is late
// Deterministic and pure.
std::vector<HostPart> SplitHostPart(const Graph& graph, const Region& region, bool has_runner);

// Whether plait runs the nodes of a host segment without a runner, those of subgraphs too.
// Errors: Unimplemented naming the first one that it does not.
absl::Status CheckRunsByItself(const Bound& bound, const Region& region);

}  // namespace plait
