#include "optimizer/plan/rebind_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/plan/make_plan.h"

// A graph at two sizes, and a plan of the first: a product that writes %p, a view of it, a Relu.
//
//   %p: float32[2,8] = MatMul(%x, %w)           %p: float32[3,8] = MatMul(%x, %w)
//   %v: float32[4,4] = Reshape(%p, [4,4])       %v: float32[6,4] = Reshape(%p, [6,4])
//   %y: float32[4,4] = Relu(%v)                 %y: float32[6,4] = Relu(%v)
//
// Nodes correspond by their numbers, tensors by their places at nodes, so that [4,4] and [6,4] need
// not be known as one. Each step becomes a launch of a cover with one kernel to choose from, the
// plan's order and streams become a schedule, and MakePlan makes the rest: %v still shares the
// bytes of %p, of which there are 96 now.

namespace plait {
namespace {

template <typename... Parts>
absl::Status Differs(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}

class Correspondence {
 public:
  Correspondence(const Graph& from, const Graph& to)
      : from_(from), to_(to), tensors_(from.tensor_count(), kNoTensor) {}

  absl::StatusOr<std::vector<TensorId>> Run() && {
    if (from_.node_count() != to_.node_count()) {
      return Differs("it has ", to_.node_count(), " nodes in the place of ", from_.node_count());
    }
    PLAIT_RETURN_IF_ERROR(Match(from_.inputs(), to_.inputs(), "the inputs"));
    for (NodeId id = 0; id < from_.node_count(); ++id) PLAIT_RETURN_IF_ERROR(MatchNode(id));
    PLAIT_RETURN_IF_ERROR(Match(from_.outputs(), to_.outputs(), "the outputs"));
    return std::move(tensors_);
  }

 private:
  absl::Status MatchNode(NodeId id) {
    const Node& node = from_.node(id);
    const Node& other = to_.node(id);
    if (node.op != other.op) {
      return Differs("node ", id, " is ", OpKindName(other.op), " in the place of ",
                     OpKindName(node.op));
    }
    PLAIT_RETURN_IF_ERROR(Match(node.inputs, other.inputs, absl::StrCat("node ", id)));
    return Match(node.outputs, other.outputs, absl::StrCat("node ", id));
  }

  absl::Status Match(absl::Span<const TensorId> tensors, absl::Span<const TensorId> others,
                     absl::string_view where) {
    if (tensors.size() != others.size()) return Differs(where, ": there are ", others.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!MatchTensor(tensors[i], others[i])) return Differs(where, ": tensor ", i, " is another");
    }
    return absl::OkStatus();
  }

  // What is met for the first time is an input, a constant or what the node in question writes.
  bool MatchTensor(TensorId tensor, TensorId other) {
    if (tensor == kNoTensor || other == kNoTensor) return tensor == other;
    const TensorInfo& info = from_.tensor(tensor);
    const TensorInfo& other_info = to_.tensor(other);
    if (info.type.dtype != other_info.type.dtype ||
        info.type.shape.size() != other_info.type.shape.size() ||
        info.producer != other_info.producer ||
        (info.constant == nullptr) != (other_info.constant == nullptr)) {
      return false;
    }
    if (info.constant != nullptr) return true;
    if (tensors_[tensor] == kNoTensor) tensors_[tensor] = other;
    return tensors_[tensor] == other;
  }

  const Graph& from_;
  const Graph& to_;
  std::vector<TensorId> tensors_;
};

// The steps of a plan as a cover with one kernel for each, in which nothing is left to choose.
class CoverOfPlan {
 public:
  CoverOfPlan(const Plan& plan, const std::vector<TensorId>& tensors)
      : plan_(plan), tensors_(tensors), writer_(plan.values.size(), -1) {}

  Cover Run() && {
    Cover cover;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      CoverStep made;
      KernelGroup& group = made.group;
      group.nodes = step.kernel.nodes;
      group.input_formats = step.kernel.input_formats;
      group.output_formats = step.kernel.output_formats;
      group.whole.kernel = step.kernel;
      group.part.kernel = step.kernel;
      for (const int input : step.inputs) {
        made.inputs.push_back(FormattedOf(input));
        group.inputs.push_back(made.inputs.back().tensor);
        if (writer_[input] >= 0) made.predecessors.push_back(writer_[input]);
      }
      for (const int output : step.outputs) {
        made.outputs.push_back(FormattedOf(output));
        group.outputs.push_back(made.outputs.back().tensor);
        writer_[output] = static_cast<int>(i);
      }
      std::sort(made.predecessors.begin(), made.predecessors.end());
      made.predecessors.erase(std::unique(made.predecessors.begin(), made.predecessors.end()),
                              made.predecessors.end());
      cover.steps.push_back(std::move(made));
    }
    return cover;
  }

 private:
  FormattedTensor FormattedOf(int value) const {
    return {tensors_[plan_.values[value].tensor], plan_.values[value].format};
  }

  const Plan& plan_;
  const std::vector<TensorId>& tensors_;
  std::vector<int> writer_;  // by value: the step that writes it
};

bool HasPlace(const Kernel& offered, const Kernel& kernel) {
  return offered.nodes == kernel.nodes && offered.width == kernel.width &&
         offered.input_formats == kernel.input_formats &&
         offered.output_formats == kernel.output_formats;
}

// Whether anything runs the kernel's nodes in its formats and at its width.
bool IsOffered(const Graph& graph, const KernelCatalog& catalog, const Kernel& kernel) {
  if (kernel.nodes.empty()) return true;
  const std::vector<Kernel> offers = catalog.KernelsAt(graph, kernel.nodes.front(), /*fuse=*/true);
  return std::any_of(offers.begin(), offers.end(),
                     [&](const Kernel& offered) { return HasPlace(offered, kernel); });
}

// What stands in for a kernel as it was offered; nullptr: it stays, or there is nothing (`found` is
// false).
const Kernel* SubstituteFor(const Kernel& kernel, const std::vector<Kernel>& offers,
                            const KernelCatalog& catalog, bool* found) {
  *found = true;
  const Kernel* of_family = nullptr;
  const Kernel* other = nullptr;
  for (const Kernel& offered : offers) {
    if (!HasPlace(offered, kernel)) continue;
    const bool needs_admission = catalog.NeedsAdmission(offered);
    if (offered.family == kernel.family) {
      // A less exact one is offered beside another one only where errors are measured.
      const bool is_offered =
          offered.variant == kernel.variant || catalog.LessExact(offered) == kernel.variant;
      if (is_offered || needs_admission) return nullptr;
      if (of_family == nullptr) of_family = &offered;
    } else if (other == nullptr && !needs_admission) {
      other = &offered;
    }
  }
  *found = of_family != nullptr || other != nullptr;
  return of_family != nullptr ? of_family : other;
}

// Whether the kernel of a step was exchanged. Errors: those of SubstituteKernels.
absl::StatusOr<bool> Substitute(const Graph& graph, const KernelCatalog& catalog, size_t step,
                                Kernel* kernel) {
  const std::vector<Kernel> offers = catalog.KernelsAt(graph, kernel->nodes.front(), /*fuse=*/true);
  bool found = false;
  const Kernel* const substitute = SubstituteFor(*kernel, offers, catalog, &found);
  if (!found) {
    return Differs("step ", step, ": nothing runs these sizes in the place of kernel family \"",
                   kernel->family, "\" variant \"", kernel->variant, "\"");
  }
  if (substitute == nullptr) return false;
  *kernel = *substitute;
  return true;
}

}  // namespace

absl::StatusOr<std::vector<TensorId>> CorrespondingTensors(const Graph& from, const Graph& to) {
  return Correspondence(from, to).Run();
}

absl::StatusOr<Plan> RebindPlan(const Graph& from, const Plan& plan, const Graph& to,
                                const KernelCatalog& catalog) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<TensorId> tensors, CorrespondingTensors(from, to));
  const Cover cover = CoverOfPlan(plan, tensors).Run();
  Schedule schedule;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    schedule.push_back({static_cast<int>(i), plan.steps[i].stream, /*whole=*/true});
  }
  Plan rebound =
      MakePlan(to, cover, schedule, catalog,
               {plan.device_fingerprint, plan.engine_version, plan.threads, plan.precision});
  rebound.predicted = plan.predicted;
  const absl::Status checked = CheckPlan(rebound, to);
  if (!checked.ok()) return absl::FailedPreconditionError(checked.message());
  return rebound;
}

absl::StatusOr<int> SubstituteKernels(const Graph& graph, const KernelCatalog& catalog,
                                      Plan* plan) {
  int substituted = 0;
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    Kernel& kernel = plan->steps[i].kernel;
    // What a device chose for other sizes says nothing of these.
    std::string offered_variant = catalog.OfferedVariant(kernel);
    bool is_other = offered_variant != kernel.variant;
    kernel.variant = std::move(offered_variant);
    if (!kernel.nodes.empty()) {
      PLAIT_ASSIGN_OR_RETURN(const bool was_refused, Substitute(graph, catalog, i, &kernel));
      is_other |= was_refused;
    }
    if (is_other) ++substituted;
  }
  return substituted;
}

absl::StatusOr<Plan> PlanWithThreads(const Graph& graph, Plan plan, int threads,
                                     const KernelCatalog& catalog) {
  for (Step& step : plan.steps) {
    Kernel& kernel = step.kernel;
    const int narrow = std::min(kernel.width, threads);
    kernel.width = kernel.width == plan.threads ? threads : narrow;
    if (!IsOffered(graph, catalog, kernel)) kernel.width = narrow;
    step.stream %= threads;
  }
  plan.threads = threads;
  PLAIT_RETURN_IF_ERROR(SubstituteKernels(graph, catalog, &plan).status());
  return RebindPlan(graph, plan, graph, catalog);
}

}  // namespace plait
