#include "loading/plan_rebinder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/search/rebind_target.h"

namespace plait {

// A plan of the file that this device could run.
struct PlanRebinder::Source {
  const FilePlan* file = nullptr;
  PlanGrade grade = PlanGrade::kNone;
  Graph graph;
  Plan plan;
  RewriteRecipe recipe;
};

// Shapes to be bound to, and the model there once it was asked for.
struct PlanRebinder::Target {
  Bindings shapes;
  std::optional<RebindTarget> model;
};

namespace {

// How far the shapes of a graph's inputs are from those given. nullopt: it cannot have them.
std::optional<double> DistanceOf(const Graph& graph, const Bindings& given) {
  double distance = 0;
  for (const TensorId input : graph.inputs()) {
    const auto& name = graph.tensor(input).name;
    const auto shape = name == nullptr ? given.end() : given.find(*name);
    if (shape == given.end()) continue;
    const std::optional<double> of_input = ShapeDistance(graph.type(input).shape, shape->second);
    if (!of_input.has_value()) return std::nullopt;
    distance += *of_input;
  }
  return distance;
}

std::string ShapesText(const Graph& graph) {
  std::string text;
  for (const TensorId input : graph.inputs()) {
    const TensorInfo& info = graph.tensor(input);
    absl::StrAppend(&text, text.empty() ? "" : ", ", info.name == nullptr ? "" : *info.name, " of ",
                    ShapeToString(info.type.shape));
  }
  return text;
}

bool MayBeOfOtherSizes(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
}

}  // namespace

PlanRebinder::PlanRebinder(const Model& model, absl::Span<const FilePlan> plans, Executor& executor)
    : model_(model), plans_(plans), executor_(executor) {}

PlanRebinder::~PlanRebinder() = default;

// What is a stranger's is proved here, once, and not for each shape.
void PlanRebinder::ReadSources() {
  sources_.emplace();
  if (absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(executor_.device());
      catalog.ok()) {
    catalog_ = *std::move(catalog);
  }
  for (const FilePlan& file : plans_) {
    if (!file.status.ok()) continue;
    const PlanGrade grade = GradeOn(file.header, executor_.device());
    if (grade == PlanGrade::kNone) continue;
    absl::StatusOr<Graph> graph = ParseTypedGraph(file.texts.graph);
    absl::StatusOr<Plan> plan = ParsePlan(file.texts.plan);
    absl::StatusOr<RewriteRecipe> recipe = ParseRecipe(file.texts.rewrites);
    if (!graph.ok() || !plan.ok() || !recipe.ok()) continue;
    if (graph->node_count() > kSearchNodesMax) continue;
    if (plan->graph_fingerprint != graph->fingerprint().ToString()) continue;
    if (!CheckPlan(*plan, *graph).ok()) continue;
    plan->device_fingerprint = executor_.device().fingerprint;
    sources_->push_back({&file, grade, *std::move(graph), *std::move(plan), *std::move(recipe)});
  }
}

std::vector<const PlanRebinder::Source*> PlanRebinder::SourcesFor(const Bindings& given) const {
  std::vector<std::pair<double, const Source*>> ranked;
  for (const Source& source : *sources_) {
    const std::optional<double> distance = DistanceOf(source.graph, given);
    if (distance.has_value() && *distance > 0) ranked.emplace_back(*distance, &source);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    if (a.second->grade != b.second->grade) return a.second->grade > b.second->grade;
    return a.first < b.first;
  });
  std::vector<const Source*> sources;
  for (const auto& [distance, source] : ranked) sources.push_back(source);
  return sources;
}

PlanChoice PlanRebinder::Choose(const Bindings& given) {
  if (!sources_.has_value()) ReadSources();
  // Then they are for no shapes at all, and the reason is another one.
  if (sources_->empty()) return ChoosePlan(model_, plans_, given, executor_);
  for (const Source& source : *sources_) {
    if (DistanceOf(source.graph, given) != 0.0) continue;
    PlanChoice exact = ChoosePlan(model_, {source.file, 1}, given, executor_);
    if (exact.loaded.has_value()) return exact;
  }
  PlanChoice choice;
  choice.reason = PlanReason::kOtherModel;
  choice.explanation = "no plan in the model is for these shapes, or can be bound to them";
  std::optional<Target> target;
  bool is_first = true;
  for (const Source* source : SourcesFor(given)) {
    Bindings shapes = ShapesFor(model_, source->graph, given);
    if (!target.has_value() || target->shapes != shapes) target = Target{std::move(shapes)};
    int substituted = 0;
    absl::StatusOr<LoadedPlan> loaded = Load(*source, &*target, &substituted);
    if (!loaded.ok()) {
      if (is_first) absl::StrAppend(&choice.explanation, ": ", loaded.status().message());
      is_first = false;
      continue;
    }
    choice = {*std::move(loaded), source->grade, PlanReason::kOtherShapes,
              absl::StrCat("the plan in the model for ", ShapesText(source->graph),
                           " is used, bound to these shapes")};
    if (substituted > 0) {
      absl::StrAppend(&choice.explanation, "; ", substituted,
                      " of its kernels do not take them, and others run in their place");
    }
    return choice;
  }
  return choice;
}

std::vector<Bindings> PlanRebinder::ShapesOfBest() {
  if (!sources_.has_value()) ReadSources();
  PlanGrade best = PlanGrade::kNone;
  for (const Source& source : *sources_) best = std::max(best, source.grade);
  std::vector<Bindings> all;
  for (const Source& source : *sources_) {
    if (source.grade != best) continue;
    Bindings shapes;
    for (const TensorId input : source.graph.inputs()) {
      const TensorInfo& info = source.graph.tensor(input);
      if (info.name != nullptr) shapes[*info.name] = info.type.shape;
    }
    if (std::find(all.begin(), all.end(), shapes) == all.end()) all.push_back(std::move(shapes));
  }
  return all;
}

PlanChoice ChooseOrBindPlan(const Model& model, absl::Span<const FilePlan> plans,
                            const Bindings& given, Executor& executor) {
  PlanChoice choice = ChoosePlan(model, plans, given, executor);
  if (choice.loaded.has_value() || choice.reason != PlanReason::kOtherModel) return choice;
  PlanChoice bound = PlanRebinder(model, plans, executor).Choose(given);
  return bound.loaded.has_value() ? std::move(bound) : std::move(choice);
}

absl::StatusOr<LoadedPlan> PlanRebinder::Load(const Source& source, Target* target,
                                              int* substituted) {
  PLAIT_ASSIGN_OR_RETURN(LoadedPlan loaded, Rebind(source, target));
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_.Load(loaded.graph, loaded.plan, *loaded.weights);
  if (!executable.ok() && MayBeOfOtherSizes(executable.status())) {
    PLAIT_ASSIGN_OR_RETURN(*substituted, SubstituteKernels(loaded.graph, *catalog_, &loaded.plan));
    if (*substituted == 0) return executable.status();
    // Which values may be parts of others depends on the kernels.
    PLAIT_ASSIGN_OR_RETURN(loaded.plan,
                           RebindPlan(loaded.graph, loaded.plan, loaded.graph, *catalog_));
    executable = executor_.Load(loaded.graph, loaded.plan, *loaded.weights);
  }
  PLAIT_RETURN_IF_ERROR(executable.status());
  loaded.executable = *std::move(executable);
  return loaded;
}

absl::StatusOr<LoadedPlan> PlanRebinder::Rebind(const Source& source, Target* target) {
  if (catalog_ == nullptr) return absl::UnimplementedError("the device has no catalog");
  if (!target->model.has_value()) {
    PLAIT_ASSIGN_OR_RETURN(Bound bound, Bind(model_, target->shapes));
    target->model.emplace(std::move(bound.graph));
  }
  PLAIT_ASSIGN_OR_RETURN(ReboundPlan rebound, target->model->Rebind(source.graph, source.plan,
                                                                    source.recipe, *catalog_));
  LoadedPlan loaded;
  loaded.graph = std::move(rebound.graph);
  loaded.plan = std::move(rebound.plan);
  loaded.weights = std::make_shared<ModelWeights>(model_.weights());
  return loaded;
}

}  // namespace plait
