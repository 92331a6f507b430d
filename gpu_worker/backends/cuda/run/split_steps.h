#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "optimizer/plan/plan.h"

namespace plait::cuda {

// A plan whose steps can all be computed.
struct SplitPlan {
  Plan plan;
  // By step of the plan as it was given: the first of those that stand for it. One more, behind the
  // last.
  std::vector<int> first_steps;
};

// Catalogs offer a kernel without asking libraries, which may have none after all: at addresses
// that they refuse, or in strict fp32 for a product with a sigmoid behind it. Such a step becomes
// several on its stream, in the order of its nodes: one for each node, or for elementwise nodes
// that stand together, with reorders where formats differ. Values of the given plan keep their
// indices; those between the new steps come behind them and want buffers. All other steps stay as
// they are.
//
// By an example: of a step Conv, Add, Relu that cannot be computed two are made, Conv and {Add,
// Relu}, and whoever waited for the step waits for the second one.
//
// `can_compute`: asked once about each step of several nodes, in order.
// Errors: Unimplemented naming a node that has no kernel of its own but the host's.
absl::StatusOr<SplitPlan> SplitSteps(const plait::Graph& graph, const Plan& plan,
                                     absl::FunctionRef<bool(const Step&)> can_compute);

}  // namespace plait::cuda
