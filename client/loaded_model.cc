#include "client/loaded_model.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "client/files/file.h"
#include "client/instruction_set_option.h"
#include "client/shape_option.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/embedded.h"
#include "optimizer/onnx/import.h"
#include "optimizer/search/plan_graph.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// Choosing among variants needs their order only: 10 samples and 50 ms each keep a model of a
// hundred operators below half a minute.
constexpr ProfileOptions kTiming = {.samples_max = 10, .time_max = absl::Milliseconds(50)};
constexpr ProfileOptions kQuickTiming = {.samples_max = 1, .time_max = absl::Milliseconds(1)};

absl::StatusOr<Plan> BaselinePlan(const Graph& graph, const DeviceDescription& device,
                                  LocalProfiles& profiles) {
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(device));
  // A plan is needed, however long it takes.
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles.cache, budget, profiles.log);
  ScheduleDevice schedule;
  schedule.threads = device.threads;
  const SearchDevice search_device = {device, *catalog, profiles.cache, schedule};
  PLAIT_ASSIGN_OR_RETURN(
      PlannedGraph planned,
      PlanBaseline(graph, search_device,
                   {device.fingerprint, std::string(PlanEngineVersion()), device.threads},
                   budgeted));
  return std::move(planned.plan);
}

// A model whose plan came with it, with its executable; any other without.
absl::StatusOr<LoadedExecutable> LoadPlanned(const std::string& path, const LoadOptions& loading,
                                             Executor& executor,
                                             std::vector<std::string>* warnings) {
  const auto rejected = [&](const absl::Status& status) {
    return wire::WithReason(Annotate(status, path), v1::ERROR_REASON_MODEL_REJECTED);
  };
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(path));
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  if (!model.ok()) return rejected(model.status());
  PlanReason reason = PlanReason::kNotWanted;
  absl::StatusOr<LoadedPlan> planned = absl::NotFoundError("no plan is asked for");
  if (!loading.ignore_plan) planned = ReadPlan(*model, &reason);
  absl::StatusOr<Bound> bound =
      Bind(*model, planned.ok() ? ShapesFor(*model, *planned, loading.shapes) : loading.shapes);
  if (!bound.ok()) return rejected(bound.status());
  if (planned.ok()) planned = LoadPlan(*std::move(planned), bound->graph, executor, &reason);
  if (planned.ok()) {
    return LoadedExecutable{{path, std::move(planned->graph), std::move(planned->plan),
                             std::move(planned->weights), true},
                            std::move(planned->executable)};
  }
  if (reason != PlanReason::kNone && reason != PlanReason::kNotWanted) {
    warnings->push_back(absl::StrCat(
        path, ": the plan in the model is ignored: ", std::string(planned.status().message())));
  }
  // Without an embedded plan every node needs a kernel.
  PLAIT_RETURN_IF_ERROR(
      wire::WithReason(CheckNoOpaqueNode(*bound), v1::ERROR_REASON_MODEL_REJECTED));
  LoadedModel loaded;
  loaded.path = path;
  loaded.graph = bound->graph;
  loaded.weights = std::make_shared<ModelWeights>(model->weights());
  LocalProfiles own(executor, loading.quick ? kQuickTiming : kTiming);
  LocalProfiles& profiles = loading.profiles == nullptr ? own : *loading.profiles;
  PLAIT_ASSIGN_OR_RETURN(loaded.plan, BaselinePlan(loaded.graph, executor.device(), profiles));
  return LoadedExecutable{std::move(loaded), nullptr};
}

}  // namespace

std::unique_ptr<LocalProfiles> MakeProfiles(Executor& executor) {
  return std::make_unique<LocalProfiles>(executor, kTiming);
}

absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& loading,
                                      Executor& executor, std::vector<std::string>* warnings) {
  PLAIT_ASSIGN_OR_RETURN(LoadedExecutable loaded, LoadPlanned(path, loading, executor, warnings));
  return std::move(loaded.model);
}

absl::StatusOr<LoadedExecutable> LoadExecutable(const std::string& path, const LoadOptions& loading,
                                                Executor& executor,
                                                std::vector<std::string>* warnings) {
  PLAIT_ASSIGN_OR_RETURN(LoadedExecutable loaded, LoadPlanned(path, loading, executor, warnings));
  if (loaded.executable != nullptr) return loaded;
  const LoadedModel& model = loaded.model;
  PLAIT_ASSIGN_OR_RETURN(loaded.executable, executor.Load(model.graph, model.plan, *model.weights));
  return loaded;
}

void AddLoadingOptions(std::vector<OptionSpec>* options) {
  const OptionSpec specs[] = {
      {"--device", OptionKind::kText, "DEVICE", "cpu (default) or reference"},
      {"--threads", OptionKind::kInteger, "N", "threads that the models may use; 0: all"},
      kInstructionSetOption,
      kShapeOption,
  };
  options->insert(options->end(), std::begin(specs), std::end(specs));
}

LoadOptions LoadingOptions(const Arguments& arguments) {
  LoadOptions loading;
  for (const auto& [name, shape] : NamedShapes(arguments)) loading.shapes[name] = shape;
  loading.ignore_plan = arguments.Has(kIgnorePlanOption.name);
  return loading;
}

absl::StatusOr<std::unique_ptr<Executor>> OpenDevice(const Arguments& arguments,
                                                     bool pins_threads) {
  const int64_t threads = arguments.Integer("--threads");
  if (threads > kThreadsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads: at most ", kThreadsMax, ", is ", threads));
  }
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      OpenExecutor(arguments.Text("--device", "cpu"),
                   {.threads = static_cast<int>(threads),
                    .pins_threads = pins_threads,
                    .instruction_set = arguments.Text(kInstructionSetOption.name)});
  if (executor.ok()) return executor;
  return wire::WithReason(executor.status(), v1::ERROR_REASON_DEVICE_UNAVAILABLE);
}

}  // namespace plait
