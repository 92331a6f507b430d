#include "server/search_child/plans_in_body.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "optimizer/plan/embed_plan.h"
#include "optimizer/plan/same_interface.h"
#include "optimizer/search/segments.h"

namespace plait {
namespace {

// A file whose plans are made one after the other.
class PlanWriter {
 public:
  PlanWriter(const Model& model, const PlanBody& body, std::vector<Graph> parts,
             const std::string& engine_version)
      : weights_(model.weights()),
        body_(body),
        parts_(std::move(parts)),
        engine_version_(engine_version) {}

  void Add(const Graph& graph, const Plan& plan) {
    absl::StatusOr<EmbeddedPlan> embedded = Embed(graph, plan);
    if (embedded.ok()) {
      written_.plans.push_back(*std::move(embedded));
    } else {
      written_.missing.emplace_back(embedded.status().message());
    }
  }

  BodyPlans Written() && { return std::move(written_); }

 private:
  // The plan names the device as it is with the plan's threads, and not with all that the worker
  // has which measured it.
  absl::StatusOr<EmbeddedPlan> Embed(const Graph& graph, Plan plan) const {
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Graph& candidate) {
      return HaveSameInterface(graph, candidate);
    });
    if (part == parts_.end()) {
      return absl::FailedPreconditionError(
          "the file has no part with the plan's inputs and outputs");
    }
    plan.device_fingerprint = FingerprintWithThreads(plan.device_fingerprint, plan.threads);
    PLAIT_ASSIGN_OR_RETURN(EmbeddedPlan embedded, EmbedPlanInBody(graph, std::move(plan), weights_,
                                                                  body_, engine_version_));
    embedded.original = part->fingerprint().ToString();
    return embedded;
  }

  const ModelWeights weights_;
  const PlanBody& body_;
  const std::vector<Graph> parts_;
  const std::string& engine_version_;
  BodyPlans written_;
};

}  // namespace

bool HasWholePlan(const SearchResult& found) {
  // Of a model that is nothing but nodes which plait lacks there is none.
  return found.islands.empty() && (!found.plan.steps.empty() || found.graph.node_count() == 0);
}

absl::StatusOr<BodyPlans> PlansInBody(const Model& model, const SearchResult& found,
                                      absl::string_view body, const std::string& engine_version) {
  PLAIT_ASSIGN_OR_RETURN(const Stripped stripped, StripWeights(body));
  // Without a copy of the weights, which may be gigabytes.
  PLAIT_ASSIGN_OR_RETURN(const Model skeleton, ImportOnnx(stripped.skeleton));
  PLAIT_ASSIGN_OR_RETURN(const Bound bound, Bind(skeleton, {}));
  const PlanBody file = {stripped, static_cast<int64_t>(body.size())};
  std::vector<Graph> parts = {bound.graph};
  if (!found.islands.empty()) parts = IslandsOf(bound.graph);
  PlanWriter writer(model, file, std::move(parts), engine_version);
  if (HasWholePlan(found)) writer.Add(found.graph, found.plan);
  for (const PlannedIsland& island : found.islands) writer.Add(island.graph, island.plan);
  return std::move(writer).Written();
}

}  // namespace plait
