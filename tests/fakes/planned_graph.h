#pragma once

#include <vector>

#include "optimizer/plan/plan.h"
#include "tests/fakes/fake_device.h"

namespace plait {

// The plans of a graph by every policy, for covers of both widths, by what the profiler says of the
// catalog's kernels; fails the test where there is no cover, a plan fails its check, or one by
// another policy takes less than plait's.
std::vector<Plan> PlansOf(const Graph& graph, const KernelCatalog& catalog,
                          const DeviceDescription& device, FakeProfiler profiler = {});

}  // namespace plait
