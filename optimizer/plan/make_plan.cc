#include "optimizer/plan/make_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "optimizer/kernels/format_rules.h"
#include "optimizer/plan/memory_plan.h"
#include "optimizer/plan/place_parts.h"
#include "optimizer/schedule/partial_order.h"

namespace plait {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const Cover& cover, const Schedule& schedule,
              const KernelCatalog& catalog, const PlanBinding& binding)
      : graph_(graph), cover_(cover), schedule_(schedule) {
    plan_.graph_fingerprint = graph.fingerprint().ToString();
    plan_.device_fingerprint = binding.device_fingerprint;
    plan_.engine_version = binding.engine_version;
    plan_.threads = binding.threads;
    plan_.precision = binding.precision;
    plan_.predicted = binding.predicted;
    std::vector<PlacedStep> steps;
    for (const Placement& placement : schedule) {
      steps.push_back({&cover_.steps[placement.launch], &KernelOf(placement)});
    }
    parts_ = PlaceParts(graph, steps, catalog);
  }

  Plan Build() {
    for (const TensorId input : graph_.inputs()) ValueOf({input, Format::kPlain});
    std::vector<int> place(cover_.steps.size(), -1);
    for (const Placement& placement : schedule_) {
      place[placement.launch] = static_cast<int>(plan_.steps.size());
      AddStep(placement, place);
    }
    PlaceValues();
    return std::move(plan_);
  }

 private:
  const Kernel& KernelOf(const Placement& placement) const {
    const KernelGroup& group = cover_.steps[placement.launch].group;
    return placement.whole ? group.whole.kernel : group.part.kernel;
  }

  int ValueOf(const FormattedTensor& key) {
    const auto known = values_.find(key);
    if (known != values_.end()) return known->second;
    Value value{.tensor = key.tensor, .format = key.format};
    const auto part = parts_.find(key);
    if (part != parts_.end()) {
      value.alias_of = ValueOf(part->second.whole);
      value.first_channel = part->second.first_channel;
    }
    plan_.values.push_back(value);
    return values_[key] = static_cast<int>(plan_.values.size()) - 1;
  }

  void AddStep(const Placement& placement, const std::vector<int>& place) {
    const CoverStep& source = cover_.steps[placement.launch];
    Step step;
    step.kernel = KernelOf(placement);
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
        const bool is_part = plan_.values[output].first_channel >= 0;
        if (RootOf(output) != output) {
          MemoryRequest& root = requests[RootOf(output)];
          (is_part ? root.writers : root.readers).push_back(static_cast<int>(step));
          continue;
        }
        requests[output].writers.push_back(static_cast<int>(step));
        const bool in_arena = !IsCallerOwned(output);
        const Value& value = plan_.values[output];
        requests[output].size_bytes =
            in_arena ? BytesOf(graph_.type(value.tensor), value.format) : 0;
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
  const Schedule& schedule_;
  std::map<FormattedTensor, PartPlace> parts_;
  Plan plan_;
  PartialOrder order_;
  std::map<FormattedTensor, int> values_;
};

}  // namespace

Plan MakePlan(const Graph& graph, const Cover& cover, const Schedule& schedule,
              const KernelCatalog& catalog, const PlanBinding& binding) {
  return PlanBuilder(graph, cover, schedule, catalog, binding).Build();
}

}  // namespace plait
