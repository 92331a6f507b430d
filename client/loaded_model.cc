#include "client/loaded_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/simulated_device.h"
#include "base/status_macros.h"
#include "client/files/model.h"
#include "client/files/tensor_folder.h"
#include "client/instruction_set_option.h"
#include "client/shape_option.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/default_plan.h"
#include "loading/load_segments.h"
#include "loading/plan_rebinder.h"
#include "loading/segmented_executable.h"
#include "loading/split_host_part.h"
#include "optimizer/search/predicted_plan.h"
#include "optimizer/search/segments.h"
#include "proto/wire/error.h"
#include "proto/wire/plan_options.h"

namespace plait {
namespace {

// Choosing among variants needs their order only: 10 samples and 50 ms each keep a model of a
// hundred operators below half a minute.
constexpr ProfileOptions kTiming = {.samples_max = 10, .time_max = absl::Milliseconds(50)};
constexpr char kNotWanted[] = "the plan in the model is ignored: it is not wanted";

absl::StatusOr<Plan> MeasuredBaseline(const Graph& graph, const DeviceDescription& device,
                                      LocalProfiles& profiles) {
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(device));
  // A plan is needed, however long it takes.
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles.cache, budget, profiles.log);
  const SearchDevice search_device = {device, *catalog, profiles.cache, ScheduleDeviceOf(device)};
  PLAIT_ASSIGN_OR_RETURN(
      PlannedGraph planned,
      PlanBaseline(graph, search_device,
                   {device.fingerprint, std::string(PlanEngineVersion()), device.threads},
                   budgeted));
  return std::move(planned.plan);
}

// What is said of a model whose nodes plait runs, though not by one plan. REQUIRES: HasOpaqueNodes.
// Errors: that; Unimplemented where there is a node that plait does not run.
absl::Status HasSeveralPlans(const Bound& bound) {
  for (const Segment& segment : SegmentsOf(bound.graph)) {
    if (segment.is_host) PLAIT_RETURN_IF_ERROR(CheckRunsByItself(bound, segment.region));
  }
  const OpaqueNode& node = bound.opaque_nodes.front();
  return absl::InvalidArgumentError(
      absl::StrCat("node ", node.name, ": ", node.op_type,
                   " runs on the host, between parts of the model that have a plan each (plait "
                   "run, bench, gate and verify take such a model)"));
}

// What runs a model that plait's programs do not.
absl::Status WithWayOut(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(status.message(),
                                                  "; plait.InferenceSession runs the model all "
                                                  "the same, with onnxruntime for such nodes"));
}

std::vector<std::string> OutputNames(const Model& model) {
  std::vector<std::string> names;
  for (const ModelValue& output : model.outputs()) names.push_back(output.name);
  return names;
}

// A model on its way from a file to a device.
class Loading {
 public:
  Loading(const std::string& path, const LoadOptions& options, Executor& executor)
      : path_(path),
        name_(options.name.empty() ? path : options.name),
        options_(options),
        executor_(executor) {}

  // With its executable where the plan came with the model or was made without measuring.
  absl::StatusOr<LoadedExecutable> Run(const Model& model, std::vector<std::string>* warnings) {
    const std::vector<FilePlan> plans = ReadFilePlans(model);
    const Bindings shapes = ShapesOfInputs(options_.inputs, model, options_.shapes);
    PlanChoice choice;
    const bool has_plan = !plans.empty() && !options_.ignore_plan;
    if (has_plan || plans.empty()) {
      choice = ChooseOrBindPlan(model, plans, shapes, executor_);
    } else {
      choice.explanation = kNotWanted;
    }
    if (!choice.loaded.has_value()) {
      absl::StatusOr<Bound> bound = BindToRun(name_, model, plans, shapes, warnings);
      if (options_.takes_parts && bound.ok() && HasOpaqueNodes(bound->graph)) {
        return InParts({model, *std::move(bound), has_plan ? plans : std::vector<FilePlan>()});
      }
      if (options_.require_plan) return Rejected(absl::FailedPreconditionError(choice.explanation));
      PLAIT_RETURN_IF_ERROR(bound.status());
      // A plan that does not fit stands for a default plan, whatever the verb.
      if (!has_plan && options_.without_plan != PlanWithout::kPredicted) {
        return WithBaseline(model, *bound, choice);
      }
      PLAIT_RETURN_IF_ERROR(
          LoadDefault(model, *bound, has_plan ? plans : std::vector<FilePlan>(), &choice));
    }
    const bool is_bound = choice.reason == PlanReason::kOtherShapes;
    if (has_plan && (choice.grade != PlanGrade::kExact || is_bound)) {
      warnings->push_back(absl::StrCat(name_, ": ", choice.explanation));
    }
    return Adopt(model, std::move(choice));
  }

 private:
  absl::Status Rejected(const absl::Status& status) const {
    return wire::WithReason(Annotate(status, name_), v1::ERROR_REASON_MODEL_REJECTED);
  }

  // Loads it to know whether it can be, and by what.
  absl::StatusOr<LoadedExecutable> InParts(PartedModel parted) {
    absl::StatusOr<LoadedSegments> parts =
        LoadSegments({parted.model, parted.bound, parted.plans, PartsLoading{executor_}});
    if (absl::IsUnimplemented(parts.status())) {
      return Rejected(WithWayOut(absl::InvalidArgumentError(parts.status().message())));
    }
    if (!parts.ok()) return Rejected(parts.status());
    if (options_.require_plan && !parts->is_embedded) {
      return Rejected(absl::FailedPreconditionError(parts->explanation));
    }
    parted.kernels = parts->kernels;
    LoadedExecutable loaded;
    loaded.model = {path_,
                    OutputNames(parted.model),
                    parted.bound.graph,
                    Plan(),
                    std::make_shared<ModelWeights>(parted.model.weights()),
                    parts->is_embedded,
                    parts->grade,
                    std::move(parts->explanation),
                    std::make_shared<const PartedModel>(std::move(parted))};
    loaded.executable =
        std::make_unique<SegmentedExecutable>(std::move(parts->model), parts->reference_nodes);
    return loaded;
  }

  LoadedExecutable Adopt(const Model& model, PlanChoice choice) const {
    LoadedPlan& loaded = *choice.loaded;
    return {{path_, OutputNames(model), std::move(loaded.graph), std::move(loaded.plan),
             std::move(loaded.weights), choice.grade >= PlanGrade::kSameInstructionSet,
             choice.grade, std::move(choice.explanation)},
            std::move(loaded.executable)};
  }

  // Without an embedded plan every node needs a kernel.
  absl::Status CheckNodes(const Bound& bound) const {
    const absl::Status known = CheckNoOpaqueNode(bound);
    if (known.ok()) return known;
    const absl::Status parts = HasSeveralPlans(bound);
    return Rejected(absl::IsUnimplemented(parts) ? WithWayOut(known) : parts);
  }

  absl::Status LoadDefault(const Model& model, const Bound& bound,
                           const std::vector<FilePlan>& plans, PlanChoice* choice) {
    PLAIT_RETURN_IF_ERROR(CheckNodes(bound));
    PLAIT_ASSIGN_OR_RETURN(DefaultPlan made, LoadDefaultPlan(model, bound, plans, executor_));
    choice->loaded = std::move(made.loaded);
    choice->grade = PlanGrade::kDefault;
    choice->explanation += made.explanation;
    return absl::OkStatus();
  }

  absl::StatusOr<LoadedExecutable> WithBaseline(const Model& model, const Bound& bound,
                                                const PlanChoice& choice) {
    PLAIT_RETURN_IF_ERROR(CheckNodes(bound));
    LoadedModel loaded;
    loaded.path = path_;
    loaded.output_names = OutputNames(model);
    loaded.graph = bound.graph;
    loaded.weights = std::make_shared<ModelWeights>(model.weights());
    loaded.explanation = choice.explanation + "; it runs one kernel for each operator";
    PLAIT_ASSIGN_OR_RETURN(loaded.plan, Baseline(loaded.graph));
    return LoadedExecutable{std::move(loaded), nullptr};
  }

  absl::StatusOr<Plan> Baseline(const Graph& graph) {
    if (options_.without_plan == PlanWithout::kMeasuredBaseline) {
      LocalProfiles own(executor_, kTiming);
      LocalProfiles& profiles = options_.profiles == nullptr ? own : *options_.profiles;
      return MeasuredBaseline(graph, executor_.device(), profiles);
    }
    PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(executor_.device()));
    PLAIT_ASSIGN_OR_RETURN(
        PlannedGraph planned,
        PredictedBaseline(graph, executor_.device(), *catalog, std::string(PlanEngineVersion())));
    return std::move(planned.plan);
  }

  const std::string& path_;
  const std::string& name_;
  const LoadOptions& options_;
  Executor& executor_;
};

}  // namespace

std::unique_ptr<LocalProfiles> MakeProfiles(Executor& executor) {
  return std::make_unique<LocalProfiles>(executor, kTiming);
}

absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& loading,
                                      Executor& executor, std::vector<std::string>* warnings) {
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportModel(path));
  PLAIT_ASSIGN_OR_RETURN(LoadedExecutable loaded,
                         Loading(path, loading, executor).Run(model, warnings));
  return std::move(loaded.model);
}

absl::StatusOr<std::vector<LoadedModel>> LoadModels(absl::Span<const std::string> paths,
                                                    absl::Span<const LoadOptions> loading,
                                                    Executor& executor,
                                                    std::vector<std::string>* warnings) {
  std::vector<Model> models;
  for (const std::string& path : paths) {
    PLAIT_ASSIGN_OR_RETURN(Model model, ImportModel(path));
    models.push_back(std::move(model));
  }
  std::vector<LoadedModel> loaded;
  for (size_t i = 0; i < models.size(); ++i) {
    LoadOptions options = loading[i];
    if (models.size() > 1) {
      options.shapes = ShapesOfAny(models[i], models, std::move(options.shapes));
    }
    PLAIT_ASSIGN_OR_RETURN(LoadedExecutable one,
                           Loading(paths[i], options, executor).Run(models[i], warnings));
    loaded.push_back(std::move(one.model));
  }
  return loaded;
}

absl::StatusOr<LoadedExecutable> LoadExecutable(const std::string& path, const LoadOptions& loading,
                                                Executor& executor,
                                                std::vector<std::string>* warnings) {
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportModel(path));
  PLAIT_ASSIGN_OR_RETURN(LoadedExecutable loaded,
                         Loading(path, loading, executor).Run(model, warnings));
  if (loaded.executable != nullptr) return loaded;
  PLAIT_ASSIGN_OR_RETURN(loaded.executable, LoadOn(loaded.model, executor));
  return loaded;
}

absl::StatusOr<std::unique_ptr<Executable>> LoadOn(const LoadedModel& model, Executor& executor) {
  if (model.parts == nullptr) return executor.Load(model.graph, model.plan, *model.weights);
  const PartedModel& parted = *model.parts;
  PLAIT_ASSIGN_OR_RETURN(
      LoadedSegments parts,
      LoadSegments({parted.model, parted.bound, parted.plans, PartsLoading{executor}}));
  return std::make_unique<SegmentedExecutable>(std::move(parts.model), parts.reference_nodes);
}

ExecutableLoader LoaderOf(const LoadedModel& model, Executor& executor) {
  if (model.parts == nullptr) return nullptr;
  return [&model, &executor] { return LoadOn(model, executor); };
}

Json PlanChoiceJson(const LoadedModel& model) {
  Json json;
  json["grade"] = std::string(PlanGradeName(model.grade));
  json["explanation"] = model.explanation;
  return json;
}

void AddLoadingOptions(std::vector<OptionSpec>* options) {
  const OptionSpec specs[] = {
      {"--device", OptionKind::kText, "DEVICE", "cpu (default), cuda:0 or reference"},
      {"--threads", OptionKind::kInteger, "N", "threads that the models may use; 0: all"},
      kInstructionSetOption,
      kShapeOption,
  };
  options->insert(options->end(), std::begin(specs), std::end(specs));
}

LoadOptions LoadingOptions(const Arguments& arguments) {
  LoadOptions loading;
  loading.shapes = NamedShapes(arguments);
  loading.ignore_plan = arguments.Has(kIgnorePlanOption.name);
  loading.require_plan = arguments.Has(kRequirePlanOption.name);
  return loading;
}

absl::Status CheckThreads(const Arguments& arguments, absl::string_view device, int has) {
  const int64_t asked = arguments.Integer("--threads");
  if (asked <= has) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--threads: ", wire::TooManyThreads(device, has, asked), " (0: all of them)"));
}

absl::StatusOr<std::unique_ptr<Executor>> OpenDevice(const Arguments& arguments,
                                                     bool pins_threads) {
  // A device takes what it has of more.
  const int threads =
      static_cast<int>(std::min<int64_t>(arguments.Integer("--threads"), kThreadsMax));
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      OpenExecutor(arguments.Text("--device", "cpu"),
                   {.threads = threads,
                    .pins_threads = pins_threads,
                    .instruction_set = arguments.Text(kInstructionSetOption.name)});
  if (!executor.ok()) {
    return wire::WithReason(executor.status(), v1::ERROR_REASON_DEVICE_UNAVAILABLE);
  }
  const DeviceDescription& device = (*executor)->device();
  PLAIT_RETURN_IF_ERROR(CheckThreads(arguments, device.id, device.threads));
  return executor;
}

absl::StatusOr<std::unique_ptr<Executor>> OpenTimedDevice(const Arguments& arguments) {
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                         OpenDevice(arguments, /*pins_threads=*/true));
  if (!IsSimulatedFingerprint(executor->device().fingerprint)) return executor;
  return absl::FailedPreconditionError(
      absl::StrCat(executor->device().id, " is simulated, and has no times"));
}

}  // namespace plait
