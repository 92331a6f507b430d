#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"

namespace plait {

// The tensors of `to` that stand where those of `from` do, by tensor of `from`; kNoTensor for
// constants, which may be others. Two graphs correspond where they are one model at two sets of
// shapes: node by node the same operators over the same tensors, which differ in sizes, and in what
// follows from sizes, alone. Pure.
// Errors: FailedPrecondition naming the first node or tensor that differs.
absl::StatusOr<std::vector<TensorId>> CorrespondingTensors(const Graph& from, const Graph& to);

// A plan of `from` for `to`, to which it corresponds: steps, kernels, formats and streams stay, and
// places in memory and waits are made anew, as MakePlan does. So what was measured at one size
// decides at all of them, in a few milliseconds. That the device's kernels take the new sizes is
// not looked at: loading does. Pure.
// REQUIRES: the plan passes CheckPlan with `from`. The result passes it with `to`.
// Errors: those of CorrespondingTensors; FailedPrecondition where what is said of `from` does not
// hold of the other sizes, such as a format that a type cannot lie in.
absl::StatusOr<Plan> RebindPlan(const Graph& from, const Plan& plan, const Graph& to,
                                const KernelCatalog& catalog);

// Gives kernels of a plan for `graph` that the catalog does not offer there others for the same
// nodes, formats and width: of their own family, else of the first that needs no admission. A
// variant that was admitted stays where the family is offered, since what admits it is the layer
// and no size. Memory and waits stay as they are: RebindPlan makes them. Returns how many. Errors:
// FailedPrecondition naming the step that has no substitute; the plan is in any state then.
absl::StatusOr<int> SubstituteKernels(const Graph& graph, const KernelCatalog& catalog, Plan* plan);

// A plan of `graph` for another number of threads: what took all of them takes all that there are
// now, where the catalog, which is the device's with so many threads, offers that; other kernels
// take as many as before, or all. There are no more streams than threads. Kernels that are not
// offered are exchanged, and places in memory and waits are made anew. Nobody has measured the
// result. Pure. REQUIRES: the plan passes CheckPlan with `graph`. The result passes it, too.
// Errors: those of SubstituteKernels and RebindPlan.
absl::StatusOr<Plan> PlanWithThreads(const Graph& graph, Plan plan, int threads,
                                     const KernelCatalog& catalog);

}  // namespace plait
