#include "optimizer/plan/embed_plan.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/materialize_constants.h"

namespace plait {

absl::StatusOr<EmbeddedPlan> EmbedPlanInOriginal(const Graph& graph, const Plan& plan,
                                                 absl::string_view engine_version) {
  EmbeddedPlan embedded{PrintPlan(plan), PrintGraph(graph), std::string(engine_version)};
  // A plan names tensors by number, so the text must keep the numbers.
  PLAIT_ASSIGN_OR_RETURN(const Graph read, ParseGraph(embedded.graph));
  if (const absl::Status status = CheckPlan(plan, read); !status.ok()) {
    return absl::InternalError(status.message());
  }
  return embedded;
}

absl::StatusOr<EmbeddedPlan> EmbedPlan(const Graph& graph, Plan plan, const WeightSource& weights,
                                       absl::string_view engine_version) {
  PLAIT_ASSIGN_OR_RETURN(const Materialized materialized, MaterializeConstants(graph, weights));
  const Graph& computed = materialized.graph;
  // Nodes keep their places, tensors keep their names only.
  absl::flat_hash_map<std::string, TensorId> tensors;
  for (TensorId id = 0; id < computed.tensor_count(); ++id) {
    if (computed.tensor(id).name != nullptr) tensors[*computed.tensor(id).name] = id;
  }
  for (Value& value : plan.values) {
    const auto& name = graph.tensor(value.tensor).name;
    const auto found = name == nullptr ? tensors.end() : tensors.find(*name);
    if (found == tensors.end()) return absl::InternalError("a tensor of the plan has no name");
    value.tensor = found->second;
  }
  plan.graph_fingerprint = computed.fingerprint().ToString();
  // A plan that was right for `graph` is right here: anything else is our fault, not the user's.
  if (const absl::Status status = CheckPlan(plan, computed); !status.ok()) {
    return absl::InternalError(status.message());
  }
  return EmbeddedPlan{PrintPlan(plan), PrintGraph(computed), std::string(engine_version)};
}

}  // namespace plait
