#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "optimizer/plan/plan.h"

namespace plait::cuda {

// A stretch of a plan: steps that are one CUDA graph, or one step that runs on the host.
struct PlanSegment {
  std::optional<ExecutableGraph> graph;
  int host_step = -1;
};

// What a step enqueues to a stream, and what its launches use (FlatGraphBuilder::Keep).
struct StepLaunch {
  std::function<Status(Stream)> enqueue;  // null: nothing is done
  std::shared_ptr<const void> resources;
  bool waits_by_itself = false;  // see Candidate
};

// Captures the steps of a plan into graphs, split at those that run on the host. In a graph a step
// is behind the one before it on its stream, behind those it waits for, behind the last one that
// ran alone, and, if it runs alone, behind all: the same order as OrderOfPlan's, which tells what
// may take whose memory, without the edges that others imply. So two schedules of one plan's
// kernels are two graphs. Steps that do nothing are no nodes, and those that wait by themselves
// begin early. Kernels on a longest path of a plan with several streams have a priority above the
// others'.
//
// By an example: 0 on stream 0, 1 on stream 1, 2 a view on stream 0 of what 1 wrote, 3 on stream 0:
// 3 is behind 2, which is behind 0 and 1 and does nothing, so the edges are 0 -> 3 and 1 -> 3.
// Errors: those of the launches and captures.
absl::StatusOr<std::vector<PlanSegment>> BuildGraphs(Runtime* runtime, const Plan& plan,
                                                     const std::vector<StepProblem>& work,
                                                     const std::vector<StepLaunch>& launches);

}  // namespace plait::cuda
