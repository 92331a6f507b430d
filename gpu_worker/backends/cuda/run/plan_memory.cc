#include "gpu_worker/backends/cuda/run/plan_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/plan/memory_plan.h"

namespace plait::cuda {
namespace {

// PlanMemory puts every request behind another one or at the start: where all sizes are multiples,
// so are all places.
int64_t Aligned(int64_t bytes) {
  return (bytes + kDeviceAlignmentBytes - 1) / kDeviceAlignmentBytes * kDeviceAlignmentBytes;
}

}  // namespace

bool IsAlone(const Plan& plan, const std::vector<StepProblem>& work, size_t step) {
  return plan.steps[step].kernel.width >= plan.threads ||
         work[step].kind == StepProblem::Kind::kHost;
}

absl::StatusOr<PartialOrder> OrderOfPlan(const Plan& plan, const std::vector<StepProblem>& work) {
  if (plan.steps.size() > kStepsMax) {
    return absl::ResourceExhaustedError(absl::StrCat("cuda: a plan of ", plan.steps.size(),
                                                     " steps; at most ", kStepsMax, " are taken"));
  }
  PartialOrder order;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    order.AddStep(plan.steps[step].stream, IsAlone(plan, work, step), plan.steps[step].waits);
  }
  return order;
}

ArenaPlan PlanArena(const plait::Graph& graph, const Plan& plan, const PartialOrder& order,
                    const std::vector<int64_t>& workspace_bytes) {
  std::vector<MemoryRequest> of_values(plan.values.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const int step = static_cast<int>(i);
    for (const int value : plan.steps[i].outputs) {
      of_values[RootOf(plan, value)].writers.push_back(step);
    }
    for (const int value : plan.steps[i].inputs) {
      of_values[RootOf(plan, value)].readers.push_back(step);
    }
  }
  ArenaPlan arena;
  std::vector<MemoryRequest> requests;
  std::vector<int64_t*> places;
  arena.value_offsets_bytes.assign(plan.values.size(), -1);
  arena.workspace_offsets_bytes.assign(plan.steps.size(), -1);
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const Value& value = plan.values[i];
    if (value.alias_of >= 0 || value.buffer.size_bytes == 0 || of_values[i].writers.empty()) {
      continue;
    }
    requests.push_back(std::move(of_values[i]));
    requests.back().size_bytes = Aligned(BytesOf(graph.type(value.tensor), value.format));
    places.push_back(&arena.value_offsets_bytes[i]);
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (workspace_bytes[i] == 0) continue;
    requests.push_back(
        {.size_bytes = Aligned(workspace_bytes[i]), .writers = {static_cast<int>(i)}});
    places.push_back(&arena.workspace_offsets_bytes[i]);
  }
  const MemoryPlan memory = PlanMemory(requests, order);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = memory.offsets_bytes[i];
  for (size_t i = 0; i < plan.values.size(); ++i) {
    arena.value_offsets_bytes[i] = arena.value_offsets_bytes[RootOf(plan, static_cast<int>(i))];
  }
  arena.bytes = memory.arena_bytes;
  return arena;
}

}  // namespace plait::cuda
