#include "loading/default_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/executor/check_load.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/predicted_plan.h"

namespace plait {
namespace {

// A graph of a plan that computes what the model does for these shapes. It is a stranger's: its
// types are proven before anything is planned by them, and one that is larger than the model's own
// could take any time.
std::optional<Graph> RewrittenGraph(absl::Span<const FilePlan> plans, const Graph& bound) {
  for (const FilePlan& plan : plans) {
    if (!plan.status.ok()) continue;
    absl::StatusOr<Graph> graph = ParseTypedGraph(plan.texts.graph);
    if (!graph.ok() || graph->node_count() > bound.node_count()) continue;
    if (!HaveSameInterface(*graph, bound) || !CheckTypes(*graph).ok()) continue;
    if (IsOfOtherModel(plan, bound)) continue;
    return *std::move(graph);
  }
  return std::nullopt;
}

absl::StatusOr<LoadedPlan> LoadBy(decltype(&PredictedPlan) planner, const Model& model,
                                  const Graph& graph, Executor& executor) {
  LoadedPlan loaded;
  loaded.graph = graph;
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(executor.device()));
  PLAIT_ASSIGN_OR_RETURN(PlannedGraph planned, planner(loaded.graph, executor.device(), *catalog,
                                                       std::string(PlanEngineVersion())));
  loaded.plan = std::move(planned.plan);
  loaded.weights = std::make_shared<ModelWeights>(model.weights());
  PLAIT_ASSIGN_OR_RETURN(loaded.executable,
                         executor.Load(loaded.graph, loaded.plan, *loaded.weights));
  return loaded;
}

// Nobody has loaded the kernels of a predicted plan before: one that refuses its nodes does not
// keep the model from running, as long as there are others for them.
absl::StatusOr<LoadedPlan> LoadPredicted(const Model& model, const Graph& graph,
                                         Executor& executor) {
  absl::StatusOr<LoadedPlan> fused = LoadBy(PredictedPlan, model, graph, executor);
  const bool is_refused =
      absl::IsInvalidArgument(fused.status()) || absl::IsUnimplemented(fused.status());
  if (!is_refused) return fused;
  absl::StatusOr<LoadedPlan> by_node = LoadBy(PredictedBaseline, model, graph, executor);
  return by_node.ok() ? std::move(by_node) : std::move(fused);
}

}  // namespace

absl::StatusOr<LoadedPlan> LoadDefaultPlan(const Model& model, const Bound& bound,
                                           absl::Span<const FilePlan> plans, Executor& executor) {
  PLAIT_RETURN_IF_ERROR(CheckNoOpaqueNode(bound));
  if (const std::optional<Graph> rewritten = RewrittenGraph(plans, bound.graph)) {
    absl::StatusOr<LoadedPlan> loaded = LoadPredicted(model, *rewritten, executor);
    if (loaded.ok()) return loaded;
  }
  return LoadPredicted(model, bound.graph, executor);
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
