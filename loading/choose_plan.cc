#include "loading/choose_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "loading/substitute_variants.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

constexpr char kOtherInterface[] = "it is for other inputs or outputs, or for other shapes";

// Whether the shapes given are the plan's, which takes less time than binding a model.
absl::Status CheckGivenShapes(const Graph& embedded, const Bindings& given) {
  for (const TensorId input : embedded.inputs()) {
    const auto& name = embedded.tensor(input).name;
    const auto shape = name == nullptr ? given.end() : given.find(*name);
    if (shape == given.end() || shape->second == embedded.type(input).shape) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        kOtherInterface, " (for ", *name, " of ", ShapeToString(embedded.type(input).shape), ")"));
  }
  return absl::OkStatus();
}

// By their number and names.
bool MakesOutputsOf(const Model& model, const Graph& graph) {
  return std::equal(model.outputs().begin(), model.outputs().end(), graph.outputs().begin(),
                    graph.outputs().end(), [&](const ModelValue& declared, TensorId output) {
                      const auto& name = graph.tensor(output).name;
                      const bool is_same = name != nullptr && *name == declared.name;
                      return is_same || !IsNamedAsOutput(graph, output);
                    });
}

// "cpu;_Some_CPU;_..." -> "Some CPU"
std::string ProcessorOf(const Plan& plan) {
  const std::vector<std::string> fields = absl::StrSplit(plan.device_fingerprint, ';');
  if (fields.size() < 2) return plan.device_fingerprint;
  const std::string name = absl::StrReplaceAll(fields[1], {{"_", " "}});
  return name.substr(std::min(name.find_first_not_of(' '), name.size()));
}

std::string OtherDevice(const Plan& plan, const DeviceDescription& device) {
  if (BackendOfFingerprint(plan.device_fingerprint) == kDescribedBackend) {
    return absl::StrCat("it was predicted for ", kDescribedBackend, ":", ProcessorOf(plan),
                        ", which is only described, and no runtime runs it (optimize the model on "
                        "this device)");
  }
  const absl::string_view instructions = InstructionSetOfFingerprint(plan.device_fingerprint);
  if (instructions.empty() || BackendOfFingerprint(plan.device_fingerprint) != device.backend) {
    return absl::StrCat("it was made for another device (", plan.device_fingerprint,
                        "; optimize the model on this one)");
  }
  return absl::StrCat("it was made for another device (", instructions, " and ", plan.threads,
                      " threads on ", ProcessorOf(plan), ", here are ", device.instruction_set,
                      " and ", device.threads, "; optimize the model on this one)");
}

// One plan on its way to being loaded, or the reason why it is not.
class Candidate {
 public:
  // `part` is what the plan has to be for; nullptr: the model.
  Candidate(const Model& model, const Graph* part, const FilePlan& plan, const Bindings& given,
            Executor& executor)
      : model_(model), part_(part), plan_(plan), given_(given), executor_(executor) {}

  // From the cheapest check to the dearest. Whatever the result, `reason` says why.
  absl::StatusOr<LoadedPlan> Load(PlanReason* reason) {
    *reason = PlanReason::kInvalid;
    LoadedPlan planned;
    PLAIT_ASSIGN_OR_RETURN(planned.graph, ParseTypedGraph(plan_.texts.graph));
    *reason = PlanReason::kOtherModel;
    PLAIT_RETURN_IF_ERROR(CheckGivenShapes(planned.graph, given_));
    *reason = PlanReason::kInvalid;
    PLAIT_ASSIGN_OR_RETURN(planned.plan, ParsePlan(plan_.texts.plan));
    *reason = PlanReason::kOtherModel;
    if (planned.plan.graph_fingerprint != planned.graph.fingerprint().ToString()) {
      return absl::FailedPreconditionError("it is for another graph");
    }
    Bound bound;
    if (part_ == nullptr) {
      // A plan of a part is for other outputs, which takes less time to see than to bind a model.
      if (!MakesOutputsOf(model_, planned.graph)) {
        return absl::FailedPreconditionError(kOtherInterface);
      }
      PLAIT_ASSIGN_OR_RETURN(bound, Bind(model_, ShapesFor(model_, planned.graph, given_)));
    }
    const Graph& original = part_ == nullptr ? bound.graph : *part_;
    if (!HaveSameInterface(planned.graph, original)) {
      return absl::FailedPreconditionError(kOtherInterface);
    }
    if (IsOfOtherModel(plan_, original)) {
      return absl::FailedPreconditionError(
          "the model was changed after the plan was made (optimize it again)");
    }
    // Loading proves that graph and plan read and write only where they may, and finds weights that
    // the file lacks.
    *reason = PlanReason::kInvalid;
    planned.weights = std::make_shared<ModelWeights>(model_.weights());
    planned.plan.device_fingerprint = executor_.device().fingerprint;
    PLAIT_RETURN_IF_ERROR(LoadOn(&planned));
    *reason = PlanReason::kFits;
    return planned;
  }

  int substituted() const { return substituted_; }

 private:
  // Some families take any variant for the one that they know best, so that a plan of another
  // version is looked at before it is loaded; one of this version only when it cannot be.
  absl::Status LoadOn(LoadedPlan* planned) {
    if (IsOfOtherEngine(plan_)) Substitute(planned);
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        executor_.Load(planned->graph, planned->plan, *planned->weights);
    const bool may_be_variant =
        absl::IsInvalidArgument(executable.status()) || absl::IsUnimplemented(executable.status());
    if (may_be_variant && substituted_ == 0 && Substitute(planned)) {
      executable = executor_.Load(planned->graph, planned->plan, *planned->weights);
    }
    PLAIT_RETURN_IF_ERROR(executable.status());
    planned->executable = *std::move(executable);
    return absl::OkStatus();
  }

  // Whether something stands in for kernels of the plan. Where nothing can, loading it says what is
  // wrong.
  bool Substitute(LoadedPlan* planned) {
    const auto catalog = CatalogFor(executor_.device());
    if (!catalog.ok()) return false;
    Plan changed = planned->plan;
    const absl::StatusOr<int> count = SubstituteVariants(planned->graph, **catalog, &changed);
    if (!count.ok() || *count == 0) return false;
    substituted_ = *count;
    planned->plan = std::move(changed);
    return true;
  }

  const Model& model_;
  const Graph* part_;
  const FilePlan& plan_;
  const Bindings& given_;
  Executor& executor_;
  int substituted_ = 0;
};

std::string UsedText(const FilePlan& plan, PlanGrade grade, int substituted) {
  std::string text = "the plan in the model is used";
  if (grade == PlanGrade::kSameInstructionSet) {
    absl::StrAppend(&text, ", which was made on another processor of the same instructions and ",
                    "threads (", ProcessorOf(plan.header), ")");
  }
  if (plan.header.predicted) absl::StrAppend(&text, "; it was made by predicted times");
  if (substituted > 0) {
    absl::StrAppend(&text, "; ", substituted,
                    " of its kernels run in other variants of their families, because this ",
                    "version does not know theirs");
  }
  if (IsOfOtherEngine(plan)) {
    absl::StrAppend(&text, "; it was made by engine ", plan.texts.version, ", this is ",
                    PlanEngineVersion());
  }
  return text;
}

std::string NotUsedText(size_t plans, absl::string_view why) {
  return plans == 1
             ? absl::StrCat("the plan in the model is ignored: ", why)
             : absl::StrCat("the ", plans, " plans in the model are ignored; the best one: ", why);
}

PlanChoice Choose(const Model& model, const Graph* part, absl::Span<const FilePlan> plans,
                  const Bindings& given, Executor& executor) {
  PlanChoice choice;
  choice.explanation = "there is no plan in the model";
  PlanGrade failed = PlanGrade::kNone;  // the best grade of those that did not load
  const auto note = [&](PlanReason reason, absl::string_view why) {
    choice.reason = reason;
    choice.explanation = NotUsedText(plans.size(), why);
  };
  for (const PlanGrade grade : {PlanGrade::kExact, PlanGrade::kSameInstructionSet}) {
    for (const FilePlan& plan : plans) {
      if (!plan.status.ok() || GradeOn(plan.header, executor.device()) != grade) continue;
      Candidate candidate(model, part, plan, given, executor);
      PlanReason reason = PlanReason::kFits;
      absl::StatusOr<LoadedPlan> loaded = candidate.Load(&reason);
      if (loaded.ok()) {
        const bool is_exact = grade == PlanGrade::kExact;
        return {*std::move(loaded), grade,
                is_exact ? PlanReason::kFits : PlanReason::kSameInstructionSet,
                UsedText(plan, grade, candidate.substituted())};
      }
      if (failed == PlanGrade::kNone) note(reason, loaded.status().message());
      failed = std::max(failed, grade);
    }
  }
  if (failed != PlanGrade::kNone) return choice;
  // None suits the device, or can be read: the first one speaks for all.
  if (plans.empty()) return choice;
  const auto usable = std::find_if(plans.begin(), plans.end(),
                                   [](const FilePlan& plan) { return plan.status.ok(); });
  if (usable == plans.end()) {
    note(plans.front().reason, plans.front().status.message());
  } else {
    note(PlanReason::kOtherDevice, OtherDevice(usable->header, executor.device()));
  }
  return choice;
}

}  // namespace

PlanChoice ChoosePlan(const Model& model, absl::Span<const FilePlan> plans, const Bindings& given,
                      Executor& executor) {
  return Choose(model, nullptr, plans, given, executor);
}

PlanChoice ChoosePlanOfPart(const Model& model, const Graph& graph,
                            absl::Span<const FilePlan> plans, Executor& executor) {
  return Choose(model, &graph, plans, {}, executor);
}

}  // namespace plait
