#pragma once

#include <string>

#include "optimizer/cover/cover.h"
#include "optimizer/plan/plan.h"
#include "optimizer/schedule/policy.h"

namespace plait {

// What a plan is bound to, beside its graph.
struct PlanBinding {
  std::string device_fingerprint;    // whose profiles decided
  std::string engine_version;        // that made the plan
  int threads = 1;                   // the device's width; a kernel that takes it all runs alone
  std::string precision = "strict";  // what its kernels were chosen to keep
  bool predicted = false;            // they were chosen by predicted times
};

// Writes a schedule of a cover down as a plan: one step per launch with the waits that its inputs
// need, one value per tensor and format, and a place for each in the arena. A view shares its
// input's bytes unless it makes a graph output, which the caller owns; what a Concat reads is part
// of its result where that can be (see place_parts.h). The plan passes CheckPlan.
// Pure: equal arguments give equal plans.
// REQUIRES: the cover is one of the whole graph (free_boundary false) by kernels of the catalog,
// the schedule one of the cover.
Plan MakePlan(const Graph& graph, const Cover& cover, const Schedule& schedule,
              const KernelCatalog& catalog, const PlanBinding& binding);

}  // namespace plait
