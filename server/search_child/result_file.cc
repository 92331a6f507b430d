#include "server/search_child/result_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/check_export.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/onnx/export.h"
#include "optimizer/plan/embed_plan.h"
#include "proto/wire/error.h"
#include "server/search_child/output_file.h"
#include "server/search_child/plans_in_body.h"

namespace plait {
namespace {

constexpr char kResultWhat[] = "the optimized model";

// What the model is at the shapes of the graph, whose inputs are the model's; "" where that cannot
// be said.
std::string OriginalOf(const Model& model, const Graph& graph) {
  Bindings shapes;
  for (const TensorId input : graph.inputs()) {
    const auto& name = graph.tensor(input).name;
    if (name != nullptr) shapes[*name] = graph.type(input).shape;
  }
  const absl::StatusOr<Bound> bound = Bind(model, shapes);
  return bound.ok() ? bound->graph.fingerprint().ToString() : "";
}

void WarnOfMissingPlan(absl::string_view why, std::vector<std::string>& warnings) {
  warnings.push_back(absl::StrCat("the optimized model carries no plan: ", why));
}

void LimitPlans(std::vector<EmbeddedPlan>& plans, std::vector<std::string>& warnings) {
  if (plans.size() <= kPlansPerModelMax) return;
  warnings.push_back(absl::StrCat("the optimized model carries ", kPlansPerModelMax, " of ",
                                  plans.size(),
                                  " plans: the other parts of it are planned when "
                                  "it is loaded"));
  plans.resize(kPlansPerModelMax);
}

// The plans beside the original's bytes, or a warning for each that is missing. Each names the
// device as it is with the plan's threads, and not with all that the worker has which measured it.
std::vector<EmbeddedPlan> PlansOf(const ResultFile& result, std::vector<std::string>& warnings) {
  std::vector<EmbeddedPlan> plans;
  const auto add = [&](const Graph& graph, Plan plan, const RewriteRecipe& recipe,
                       const Graph* part) {
    plan.device_fingerprint = FingerprintWithThreads(plan.device_fingerprint, plan.threads);
    absl::StatusOr<EmbeddedPlan> embedded = EmbedPlanInOriginal(graph, plan, result.engine_version);
    if (!embedded.ok()) {
      WarnOfMissingPlan(embedded.status().message(), warnings);
      return;
    }
    embedded->rewrites = PrintRecipe(recipe);
    embedded->original =
        part != nullptr ? part->fingerprint().ToString() : OriginalOf(result.model, graph);
    plans.push_back(*std::move(embedded));
  };
  const auto add_all = [&](const SearchResult& found) {
    if (HasWholePlan(found)) add(found.graph, found.plan, found.recipe, nullptr);
    for (const PlannedIsland& island : found.islands) {
      add(island.graph, island.plan, {}, &island.original);
    }
  };
  add_all(result.found);
  for (const SearchedPlan& further : result.further) add_all(further.found);
  LimitPlans(plans, warnings);
  return plans;
}

// Of many nodes over few weights: a plan speaks of each node, and its gain is worth the bytes.
void WarnOfGrowth(int64_t file_bytes, size_t plans, size_t appended_bytes,
                  std::vector<std::string>& warnings) {
  const int64_t bytes_max = PlanBytesMax(file_bytes);
  if (appended_bytes <= plans * static_cast<size_t>(bytes_max)) return;
  warnings.push_back(absl::StrCat("the file grows by ", appended_bytes, " bytes for ", plans,
                                  plans == 1 ? " plan" : " plans", ", more than ", bytes_max,
                                  " for each; a job that adds plans to it leaves larger ones out"));
}

absl::StatusOr<ModelWithPlan> PutPlans(absl::string_view body, absl::Span<const EmbeddedPlan> plans,
                                       std::vector<std::string>& warnings) {
  absl::StatusOr<ModelWithPlan> file = AttachPlans(body, plans);
  if (file.ok()) {
    WarnOfGrowth(static_cast<int64_t>(body.size()), plans.size(), file->appended.size(), warnings);
  }
  return file;
}

absl::StatusOr<MadeFile> MakeOriginal(const ResultFile& result,
                                      std::vector<std::string>& warnings) {
  std::vector<EmbeddedPlan> plans;
  if (result.has_plans) plans = PlansOf(result, warnings);
  MadeFile made;
  made.kept = KeptBeside(plans, result.kept);
  // That they are too many was refused before, but for plans whose number a search decides.
  if (const size_t room = kPlansPerModelMax - plans.size(); made.kept.size() > room) {
    warnings.push_back(absl::StrCat(made.kept.size() - room,
                                    " of the plans that the model came with are ",
                                    "left out: a file may hold ", kPlansPerModelMax));
    made.kept.resize(room);
  }
  for (const KeptPlan* plan : made.kept) plans.push_back(plan->texts);
  PLAIT_ASSIGN_OR_RETURN(made.parts, PutPlans(result.bytes, plans, warnings));
  return made;
}

// Of each input, because a caller who gives another size is refused by every runtime.
void WarnOfFrozenDimensions(const Model& model, const Graph& graph,
                            std::vector<std::string>& warnings) {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ModelValue& input = model.inputs()[i];
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const Dimension& dimension = input.shape[axis];
      if (dimension.known()) continue;
      warnings.push_back(absl::StrCat(
          "dimension ", axis, " (", dimension.symbol.empty() ? "unnamed" : dimension.symbol,
          ") of ", input.name, " is ", graph.type(graph.inputs()[i]).shape[axis],
          " in the file, whatever it was before (--body original keeps it open)"));
    }
  }
}

absl::StatusOr<MadeFile> MakeRewritten(const ResultFile& result,
                                       std::vector<std::string>& warnings) {
  const Graph& graph = result.other_graph != nullptr ? *result.other_graph : result.found.graph;
  PLAIT_ASSIGN_OR_RETURN(std::string bytes, ExportOnnx(result.model, graph, result.model.weights(),
                                                       {.opset = result.opset}));
  const absl::Status same = CheckExport(bytes, graph, result.model.weights());
  if (!same.ok()) return wire::WithReason(same, v1::ERROR_REASON_NOT_EQUIVALENT);
  WarnOfFrozenDimensions(result.model, graph, warnings);
  if (!result.kept.empty()) {
    warnings.push_back(absl::StrCat("the ", result.kept.size(),
                                    " other plans that the model came with are left out: they are "
                                    "for its own graph, and the file has a rewritten one (--body "
                                    "original keeps them)"));
  }
  PLAIT_ASSIGN_OR_RETURN(BodyPlans plans,
                         PlansInBody(result.model, result.found, bytes, result.engine_version));
  for (const std::string& why : plans.missing) WarnOfMissingPlan(why, warnings);
  LimitPlans(plans.plans, warnings);
  MadeFile made;
  made.body = std::make_unique<const std::string>(std::move(bytes));
  PLAIT_ASSIGN_OR_RETURN(made.parts, PutPlans(*made.body, plans.plans, warnings));
  return made;
}

}  // namespace

absl::string_view BodyName(Body body) {
  switch (body) {
    case Body::kOriginal:
      return "original";
    case Body::kPortable:
      return "portable";
    case Body::kSearched:
      return "searched";
  }
  return "unknown";
}

Body BodyOf(const v1::OptimizeOptions& options) {
  if (options.body() == "original") return Body::kOriginal;
  if (options.body() == "portable") return Body::kPortable;
  if (options.body() == "searched") return Body::kSearched;
  return options.opset() == 0 ? Body::kOriginal : Body::kPortable;
}

absl::StatusOr<MadeFile> MakeResultFile(const ResultFile& result,
                                        std::vector<std::string>& warnings) {
  return result.body == Body::kOriginal ? MakeOriginal(result, warnings)
                                        : MakeRewritten(result, warnings);
}

absl::Status WriteResultFile(const MadeFile& made, int file) {
  for (const absl::string_view part : made.parts.kept) {
    PLAIT_RETURN_IF_ERROR(AppendToFile(file, part, kResultWhat));
  }
  return AppendToFile(file, made.parts.appended, kResultWhat);
}

}  // namespace plait
