#include "optimizer/plan/make_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "optimizer/plan/memory_plan.h"
#include "optimizer/schedule/partial_order.h"

namespace plait {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const Cover& cover, const PlanBinding& binding)
      : graph_(graph), cover_(cover) {
    plan_.graph_fingerprint = graph.fingerprint().ToString();
    plan_.device_fingerprint = binding.device_fingerprint;
    plan_.engine_version = binding.engine_version;
    plan_.threads = binding.threads;
  }

  Plan Build(const Schedule& schedule) {
    for (const TensorId input : graph_.inputs()) ValueOf({input, Format::kPlain});
    std::vector<int> place(cover_.steps.size(), -1);
    for (const Placement& placement : schedule) {
      place[placement.launch] = static_cast<int>(plan_.steps.size());
      AddStep(placement, place);
    }
    PlaceValues();
    return std::move(plan_);
  }

 private:
  int ValueOf(const FormattedTensor& key) {
    const auto [place, is_new] = values_.emplace(key, static_cast<int>(plan_.values.size()));
    if (is_new) {
      Value value;
      value.tensor = key.tensor;
      value.format = key.format;
      plan_.values.push_back(value);
    }
    return place->second;
  }

  void AddStep(const Placement& placement, const std::vector<int>& place) {
    const CoverStep& source = cover_.steps[placement.launch];
    Step step;
    step.kernel = placement.whole ? source.group.whole.kernel : source.group.part.kernel;
    step.stream = placement.stream;
    for (const FormattedTensor& input : source.inputs) step.inputs.push_back(ValueOf(input));
    for (const FormattedTensor& output : source.outputs) step.outputs.push_back(ValueOf(output));
    if (step.kernel.family == kViewFamily && step.inputs.size() == 1 && step.outputs.size() == 1 &&
        !IsCallerOwned(step.outputs.front())) {
      plan_.values[step.outputs.front()].alias_of = step.inputs.front();
    }
    std::vector<int> needed;
    for (const int predecessor : source.predecessors) needed.push_back(place[predecessor]);
    const bool alone = step.kernel.width >= plan_.threads;
    step.waits = order_.AddStepThatNeeds(step.stream, alone, needed);
    plan_.streams = std::max(plan_.streams, step.stream + 1);
    plan_.steps.push_back(std::move(step));
  }

  // The bytes of graph inputs and of row-major graph outputs are the caller's.
  bool IsCallerOwned(int value) const {
    const Value& place = plan_.values[value];
    if (place.format != Format::kPlain) return false;
    return graph_.tensor(place.tensor).producer == kNoNode || graph_.is_output(place.tensor);
  }

  int RootOf(int value) const {
    while (plan_.values[value].alias_of >= 0) value = plan_.values[value].alias_of;
    return value;
  }

  // Lifetimes are those of the bytes: whoever reads an alias reads its root.
  void PlaceValues() {
    std::vector<MemoryRequest> requests(plan_.values.size());
    for (size_t step = 0; step < plan_.steps.size(); ++step) {
      for (const int output : plan_.steps[step].outputs) {
        if (RootOf(output) != output) {
          requests[RootOf(output)].readers.push_back(static_cast<int>(step));
          continue;
        }
        requests[output].writer = static_cast<int>(step);
        const bool in_arena = !IsCallerOwned(output);
        requests[output].size_bytes =
            in_arena ? graph_.type(plan_.values[output].tensor).bytes() : 0;
      }
      for (const int input : plan_.steps[step].inputs) {
        requests[RootOf(input)].readers.push_back(static_cast<int>(step));
      }
    }
    const MemoryPlan memory = PlanMemory(requests, order_);
    plan_.arena_bytes = memory.arena_bytes;
    for (size_t value = 0; value < plan_.values.size(); ++value) {
      const int root = RootOf(static_cast<int>(value));
      plan_.values[value].buffer = {memory.offsets_bytes[root], requests[root].size_bytes};
    }
  }

  const Graph& graph_;
  const Cover& cover_;
  Plan plan_;
  PartialOrder order_;
  std::map<FormattedTensor, int> values_;
};

}  // namespace

Plan MakePlan(const Graph& graph, const Cover& cover, const Schedule& schedule,
              const PlanBinding& binding) {
  return PlanBuilder(graph, cover, binding).Build(schedule);
}

}  // namespace plait
