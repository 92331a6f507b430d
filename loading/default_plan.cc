#include "loading/default_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/executor/check_load.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/search/predicted_plan.h"

namespace plait {
namespace {

constexpr char kPredicted[] =
    "; kernels are chosen by predicted times (optimize the model on this machine with `plait "
    "optimize`)";

// Of a rewritten graph for each node of the model's own: a scale that no weight takes, a slice for
// each user of what was merged.
constexpr int64_t kNodesMax = 2;

// A plan of the file whose graph computes what the model does for these shapes.
struct PlanOfModel {
  const FilePlan* file = nullptr;
  Graph graph;
};

// Its graph is a stranger's: its types are proven before anything is planned by them, and one that
// is much larger than the model's own could take any time.
std::optional<Graph> GraphOfModel(const FilePlan& plan, const Graph& bound) {
  if (!plan.status.ok()) return std::nullopt;
  absl::StatusOr<Graph> graph = ParseTypedGraph(plan.texts.graph);
  if (!graph.ok() || graph->node_count() > kNodesMax * bound.node_count()) return std::nullopt;
  if (!HaveSameInterface(*graph, bound) || !CheckTypes(*graph).ok()) return std::nullopt;
  if (IsOfOtherModel(plan, bound)) return std::nullopt;
  return *std::move(graph);
}

// The first one that is for these instructions, with the nearest number of threads; else the first.
std::optional<PlanOfModel> PlanFor(absl::Span<const FilePlan> plans, const Graph& bound,
                                   const DeviceDescription& device) {
  const auto distance = [&](const Plan& header) {
    constexpr double kOfOtherInstructions = 1e3;
    if (!IsForInstructions(header, device)) return kOfOtherInstructions;
    return std::abs(std::log2(static_cast<double>(header.threads) / device.threads));
  };
  std::optional<PlanOfModel> best;
  for (const FilePlan& plan : plans) {
    if (best.has_value() && distance(plan.header) >= distance(best->file->header)) continue;
    std::optional<Graph> graph = GraphOfModel(plan, bound);
    if (graph.has_value()) best = {&plan, *std::move(graph)};
  }
  return best;
}

// What the plan says of its graph, which is as hostile.
absl::StatusOr<Plan> CheckedPlan(const PlanOfModel& source) {
  PLAIT_ASSIGN_OR_RETURN(Plan plan, ParsePlan(source.file->texts.plan));
  if (plan.graph_fingerprint != source.graph.fingerprint().ToString()) {
    return absl::FailedPreconditionError("the plan is for another graph");
  }
  PLAIT_RETURN_IF_ERROR(CheckPlan(plan, source.graph));
  return plan;
}

class Loading {
 public:
  Loading(const Model& model, Executor& executor, const KernelCatalog& catalog)
      : model_(model), executor_(executor), catalog_(catalog) {}

  absl::StatusOr<DefaultPlan> From(const PlanOfModel& source) {
    const absl::StatusOr<Plan> plan = CheckedPlan(source);
    if (!plan.ok()) return ByPrediction(source.graph, {});
    // One for as many threads has been tried, and could not be loaded.
    const DeviceDescription& device = executor_.device();
    if (IsForInstructions(*plan, device) && plan->threads != device.threads) {
      absl::StatusOr<DefaultPlan> made = WithThreads(source.graph, *plan);
      if (made.ok()) return made;
    }
    return ByPrediction(source.graph, AdmittedBy(*plan, source.graph, catalog_));
  }

  // Nobody has loaded the kernels of a predicted plan before: one that refuses its nodes does not
  // keep the model from running, as long as there are others for them.
  absl::StatusOr<DefaultPlan> ByPrediction(const Graph& graph, const Admissions& admitted) {
    const std::string engine(PlanEngineVersion());
    const DeviceDescription& device = executor_.device();
    PLAIT_ASSIGN_OR_RETURN(PlannedGraph planned,
                           PredictedPlan(graph, device, catalog_, engine, admitted));
    absl::StatusOr<LoadedPlan> loaded = Load(graph, std::move(planned.plan));
    if (absl::IsInvalidArgument(loaded.status()) || absl::IsUnimplemented(loaded.status())) {
      PLAIT_ASSIGN_OR_RETURN(planned, PredictedBaseline(graph, device, catalog_, engine));
      absl::StatusOr<LoadedPlan> by_node = Load(graph, std::move(planned.plan));
      if (by_node.ok()) loaded = std::move(by_node);
    }
    PLAIT_RETURN_IF_ERROR(loaded.status());
    return DefaultPlan{*std::move(loaded), kPredicted};
  }

 private:
  absl::StatusOr<DefaultPlan> WithThreads(const Graph& graph, const Plan& plan) {
    const int threads = executor_.device().threads;
    PLAIT_ASSIGN_OR_RETURN(Plan changed, PlanWithThreads(graph, plan, threads, catalog_));
    changed.device_fingerprint = executor_.device().fingerprint;
    changed.predicted = true;
    PLAIT_ASSIGN_OR_RETURN(LoadedPlan loaded, Load(graph, std::move(changed)));
    return DefaultPlan{std::move(loaded),
                       absl::StrCat("; its kernels run with ", threads, " in the place of ",
                                    plan.threads, ", which nobody has measured")};
  }

  absl::StatusOr<LoadedPlan> Load(const Graph& graph, Plan plan) {
    LoadedPlan loaded;
    loaded.graph = graph;
    loaded.plan = std::move(plan);
    loaded.weights = std::make_shared<ModelWeights>(model_.weights());
    PLAIT_ASSIGN_OR_RETURN(loaded.executable,
                           executor_.Load(loaded.graph, loaded.plan, *loaded.weights));
    return loaded;
  }

  const Model& model_;
  Executor& executor_;
  const KernelCatalog& catalog_;
};

}  // namespace

absl::StatusOr<DefaultPlan> LoadDefaultPlan(const Model& model, const Bound& bound,
                                            absl::Span<const FilePlan> plans, Executor& executor) {
  PLAIT_RETURN_IF_ERROR(CheckNoOpaqueNode(bound));
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(executor.device()));
  Loading loading(model, executor, *catalog);
  if (const auto source = PlanFor(plans, bound.graph, executor.device())) {
    absl::StatusOr<DefaultPlan> made = loading.From(*source);
    if (made.ok()) return made;
  }
  return loading.ByPrediction(bound.graph, {});
}

bool HasOpaqueNodes(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return node.op == OpKind::kOpaque; });
}

// Those that nothing reads are not in the graph, and need none.
absl::Status CheckNoOpaqueNode(const Bound& bound) {
  if (!HasOpaqueNodes(bound.graph)) return absl::OkStatus();
  const OpaqueNode& node = bound.opaque_nodes.front();
  const size_t more = bound.opaque_nodes.size() - 1;
  return absl::InvalidArgumentError(
      absl::StrCat("node ", node.name, ": ", node.op_type, " cannot be run: ", node.reason,
                   more == 0 ? "" : absl::StrCat(" (nor can ", more, " more nodes)")));
}

}  // namespace plait
