#include "client/loaded_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "client/files/file.h"
#include "client/instruction_set_option.h"
#include "client/shape_option.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/plan_graph.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// The server's without the digest of its build: plans of another release may mean other things.
constexpr absl::string_view kEngineVersion = "plait-" PLAIT_VERSION;
// Choosing among variants needs their order only: 10 samples and 50 ms each keep a model of a
// hundred operators below half a minute.
constexpr ProfileOptions kTiming = {.samples_max = 10, .time_max = absl::Milliseconds(50)};
constexpr ProfileOptions kQuickTiming = {.samples_max = 1, .time_max = absl::Milliseconds(1)};

// The plan is for a graph whose names and types of inputs and outputs are those of the model.
absl::Status CheckSameInterface(const Graph& embedded, const Graph& model) {
  const auto same = [&](absl::Span<const TensorId> a, absl::Span<const TensorId> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](TensorId x, TensorId y) {
      const auto& name = embedded.tensor(x).name;
      const auto& other = model.tensor(y).name;
      return embedded.type(x) == model.type(y) && name != nullptr && other != nullptr &&
             *name == *other;
    });
  };
  if (same(embedded.inputs(), model.inputs()) && same(embedded.outputs(), model.outputs())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("it is for other inputs or outputs, or for other shapes");
}

// The graph and plan inside a model, as far as they can be read without knowing the device.
absl::StatusOr<LoadedModel> ReadPlanned(const EmbeddedPlan& embedded, const Model& model) {
  const absl::string_view version = embedded.version;
  if (version.substr(0, version.find('+')) != kEngineVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("it was made by engine ", version, ", this is ", kEngineVersion));
  }
  LoadedModel planned;
  PLAIT_ASSIGN_OR_RETURN(planned.graph, ParseTypedGraph(embedded.graph));
  PLAIT_ASSIGN_OR_RETURN(planned.plan, ParsePlan(embedded.plan));
  if (planned.plan.graph_fingerprint != planned.graph.fingerprint().ToString()) {
    return absl::FailedPreconditionError("it is for another graph");
  }
  planned.weights = std::make_shared<ModelWeights>(model.weights());
  planned.embedded_plan = true;
  return planned;
}

// Loads it, if it is for this device and for the model as it is bound.
absl::StatusOr<LoadedExecutable> LoadPlan(LoadedModel planned, const Graph& bound,
                                          Executor& executor) {
  // From the cheapest check to the dearest, and all of them before anything is run.
  if (planned.plan.device_fingerprint != executor.device().fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("it was made for another device (",
                                                      planned.plan.device_fingerprint,
                                                      "; optimize the model on this one)"));
  }
  PLAIT_RETURN_IF_ERROR(CheckSameInterface(planned.graph, bound));
  // Graph and plan are a stranger's: loading proves that they read and write only where they may,
  // and finds weights that the file lacks. What fails here is not used.
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                         executor.Load(planned.graph, planned.plan, *planned.weights));
  return LoadedExecutable{std::move(planned), std::move(executable)};
}

// The shapes given, and of inputs whose dimensions the model leaves open and nobody gives those
// that the plan was made for.
Bindings ShapesOf(const Model& model, Bindings given, const absl::StatusOr<LoadedModel>& planned) {
  if (!planned.ok()) return given;
  for (const ModelValue& input : model.inputs()) {
    const bool is_open = !std::all_of(input.shape.begin(), input.shape.end(),
                                      [](const Dimension& dimension) { return dimension.known(); });
    if (!is_open || given.contains(input.name)) continue;
    for (const TensorId id : planned->graph.inputs()) {
      const auto& name = planned->graph.tensor(id).name;
      if (name != nullptr && *name == input.name) given[*name] = planned->graph.type(id).shape;
    }
  }
  return given;
}

// The same of a model that may have none: NotFound.
absl::StatusOr<LoadedModel> FindPlanned(const Model& model) {
  PLAIT_ASSIGN_OR_RETURN(const std::optional<EmbeddedPlan> embedded, ReadEmbeddedPlan(model));
  if (!embedded.has_value()) return absl::NotFoundError("the model has no plan");
  return ReadPlanned(*embedded, model);
}

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
                   {device.fingerprint, std::string(kEngineVersion), device.threads}, budgeted));
  return std::move(planned.plan);
}

absl::Status CheckNoOpaqueNode(const Bound& bound) {
  if (bound.opaque_nodes.empty()) return absl::OkStatus();
  const OpaqueNode& node = bound.opaque_nodes.front();
  return wire::Error(
      v1::ERROR_REASON_MODEL_REJECTED,
      absl::StrCat("node ", node.name, ": ", node.op_type, " cannot be run: ", node.reason));
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
  absl::StatusOr<LoadedModel> planned = absl::NotFoundError("no plan is asked for");
  if (!loading.ignore_plan) planned = FindPlanned(*model);
  absl::StatusOr<Bound> bound = Bind(*model, ShapesOf(*model, loading.shapes, planned));
  if (!bound.ok()) return rejected(bound.status());
  if (!absl::IsNotFound(planned.status())) {
    absl::StatusOr<LoadedExecutable> loaded =
        planned.ok() ? LoadPlan(*std::move(planned), bound->graph, executor)
                     : absl::StatusOr<LoadedExecutable>(planned.status());
    if (loaded.ok()) {
      loaded->model.path = path;
      return loaded;
    }
    warnings->push_back(absl::StrCat(
        path, ": the plan in the model is ignored: ", std::string(loaded.status().message())));
  }
  // Without an embedded plan every node needs a kernel.
  PLAIT_RETURN_IF_ERROR(CheckNoOpaqueNode(*bound));
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

absl::StatusOr<LoadedExecutable> LoadEmbeddedPlan(const EmbeddedPlan& embedded, const Model& model,
                                                  const Graph& bound, Executor& executor) {
  PLAIT_ASSIGN_OR_RETURN(LoadedModel planned, ReadPlanned(embedded, model));
  return LoadPlan(std::move(planned), bound, executor);
}

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
