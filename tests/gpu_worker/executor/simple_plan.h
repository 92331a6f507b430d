#pragma once

#include <functional>

#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"

namespace plait {

// How a test wants a graph to be run. Every value gets its own place: nothing is reused.
struct SimplePlanOptions {
  int threads = 1;  // width of every kernel that has it
  int streams = 1;
  // Of what nodes read and write. Reorders come in front of all of them and behind.
  Format format = Format::kPlain;
  // The stream of a node; steps on other streams that it depends on become waits.
  std::function<int(NodeId)> stream_of = [](NodeId) { return 0; };
};

// One kernel per node, in order. The plan passes CheckPlan.
// REQUIRES: there is a kernel in the format for each node; there always is in the plain one.
Plan SimplePlan(const Graph& graph, const DeviceDescription& device, const KernelCatalog& catalog,
                const SimplePlanOptions& options);

}  // namespace plait
