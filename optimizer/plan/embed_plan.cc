#include "optimizer/plan/embed_plan.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/ir/text.h"
#include "optimizer/plan/body_constants.h"

namespace plait {
namespace {

// The graph with what its constants become. Constants that become one keep the name of one.
absl::StatusOr<Graph> WithConstants(const Graph& graph, BodyConstants& constants) {
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (graph.tensor(id).constant == nullptr) continue;
    absl::StatusOr<ConstantRef> constant = constants.In(graph.tensor(id).constant);
    if (!constant.ok()) return Annotate(constant.status(), *graph.tensor(id).name);
    copier.Exchange(id, builder.AddConstant(*std::move(constant)));
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) copier.CopyNode(id);
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

int64_t PackedBytes(const EmbeddedPlan& plan) {
  int64_t bytes = 0;
  for (const auto& [key, value] : MetadataOf({&plan, 1})) {
    bytes += static_cast<int64_t>(value.size());
  }
  return bytes;
}

}  // namespace

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

absl::StatusOr<EmbeddedPlan> EmbedPlanInBody(const Graph& graph, Plan plan,
                                             const WeightSource& weights, const PlanBody& body,
                                             absl::string_view engine_version) {
  const int64_t bytes_max = PlanBytesMax(body.bytes);
  const StrippedWeights weights_of_body(body.file);
  BodyConstants constants(weights, weights_of_body, bytes_max);
  PLAIT_ASSIGN_OR_RETURN(const Graph said, WithConstants(graph, constants));
  // Nodes keep their places, tensors keep their names only.
  absl::flat_hash_map<std::string, TensorId> tensors;
  for (TensorId id = 0; id < said.tensor_count(); ++id) {
    if (said.tensor(id).name != nullptr) tensors[*said.tensor(id).name] = id;
  }
  for (Value& value : plan.values) {
    const auto& name = graph.tensor(value.tensor).name;
    const auto found = name == nullptr ? tensors.end() : tensors.find(*name);
    if (found == tensors.end()) return absl::InternalError("a tensor of the plan has no name");
    value.tensor = found->second;
  }
  plan.graph_fingerprint = said.fingerprint().ToString();
  // A plan that was right for `graph` is right here: anything else is our fault, not the user's.
  PLAIT_ASSIGN_OR_RETURN(EmbeddedPlan embedded, EmbedPlanInOriginal(said, plan, engine_version));
  if (constants.kept_bytes() > 0 && PackedBytes(embedded) > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the file lacks weights that the plan reads, and with these it takes more ",
                     "than ", bytes_max, " bytes"));
  }
  return embedded;
}

}  // namespace plait
