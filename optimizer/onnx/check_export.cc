#include "optimizer/onnx/check_export.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/integer_form/integer_form.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/fold_node.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/materialize_constants.h"
#include "optimizer/onnx/prove_form.h"
#include "optimizer/onnx/strip.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Adds node `id` of the copier's graph to `builder` as import would have: without Identity, which
// only gives a tensor a second name, and as constants where it reads nothing else.
absl::Status CopyAsImported(const Graph& graph, NodeId id, GraphCopier* copier,
                            GraphBuilder* builder) {
  Node node = copier->Detached(id);
  const auto& outputs = graph.node(id).outputs;
  if (node.op == OpKind::kIdentity) {
    copier->Set(outputs[0], node.inputs[0]);
    return absl::OkStatus();
  }
  if (node.op != OpKind::kOpaque) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                           InferTypes(*builder, node, static_cast<int>(outputs.size())));
    if (const auto constants = FoldNode(*builder, node, types)) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] != kNoTensor) copier->Set(outputs[i], builder->AddConstant((*constants)[i]));
      }
      return absl::OkStatus();
    }
  }
  copier->CopyNodeAs(id, std::move(node));
  return absl::OkStatus();
}

// The graph without expressions, and without what import would not have made a node of.
absl::StatusOr<Materialized> AsImported(const Graph& graph, const WeightSource& weights) {
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    PLAIT_RETURN_IF_ERROR(CopyAsImported(graph, id, &copier, &builder));
  }
  copier.CopyOutputs();
  PLAIT_ASSIGN_OR_RETURN(const Graph imported, std::move(builder).Finish());
  return MaterializeConstants(imported, weights);
}

// A graph in which every node stands as it comes back from a file, each form proven. Equal nodes
// are proven once.
class ProvenForms {
 public:
  ProvenForms(const Graph& graph, FormOf form_of) : graph_(graph), form_of_(form_of) {}

  absl::StatusOr<Graph> Run() && {
    GraphCopier copier(graph_, &builder_);
    for (NodeId id = 0; id < graph_.node_count(); ++id) {
      if (graph_.node(id).op == OpKind::kOpaque) {
        copier.CopyNode(id);
        continue;
      }
      const absl::StatusOr<Graph> form = FormOfNode(id);
      if (!form.ok()) {
        const Node& node = graph_.node(id);
        return Annotate(form.status(), absl::StrCat(OpKindName(node.op), " of '",
                                                    *graph_.tensor(node.outputs[0]).name, "'"));
      }
      PLAIT_RETURN_IF_ERROR(CopyForm(id, *form, &copier));
    }
    copier.CopyOutputs();
    return std::move(builder_).Finish();
  }

 private:
  absl::StatusOr<Graph> FormOfNode(NodeId id) {
    PLAIT_ASSIGN_OR_RETURN(const Graph alone, NodeAlone(graph_, id));
    const auto known = proven_.find(alone.fingerprint());
    if (known != proven_.end()) return known->second;
    PLAIT_ASSIGN_OR_RETURN(Graph form, form_of_(alone));
    if (form.fingerprint() != alone.fingerprint()) {
      PLAIT_RETURN_IF_ERROR(ProveForm(alone, form, form_of_));
    }
    return proven_.emplace(alone.fingerprint(), std::move(form)).first->second;
  }

  // Puts the form in the place of the node: inputs and outputs are in the order of NodeAlone.
  absl::Status CopyForm(NodeId id, const Graph& form, GraphCopier* copier) {
    const Node& node = graph_.node(id);
    std::vector<TensorId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoTensor) continue;
      if (graph_.inline_constant(id, static_cast<int>(i)) != nullptr) continue;
      inputs.push_back(copier->TensorOf(node.inputs[i]));
    }
    GraphCopier form_copier(form, &builder_, inputs);
    for (NodeId part = 0; part < form.node_count(); ++part) {
      PLAIT_RETURN_IF_ERROR(CopyAsImported(form, part, &form_copier, &builder_));
    }
    size_t next = 0;
    for (const TensorId output : node.outputs) {
      if (output != kNoTensor) copier->Set(output, form_copier.TensorOf(form.outputs()[next++]));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const FormOf form_of_;
  GraphBuilder builder_;
  absl::flat_hash_map<Fingerprint, Graph> proven_;  // by the node alone
};

}  // namespace

// Without a copy of the weights, which may be gigabytes: what is imported is the file's skeleton,
// with the digests of weights in the place of their bytes.
absl::Status CheckExport(absl::string_view bytes, const Graph& graph, const WeightSource& weights,
                         WrittenFormOf form_of) {
  const auto failed = [](absl::string_view what, const absl::Status& status) {
    return absl::InternalError(absl::StrCat("the exported model ", what, ": ", status.message()));
  };
  const absl::StatusOr<Stripped> stripped = StripWeights(bytes);
  if (!stripped.ok()) return failed("cannot be read", stripped.status());
  const absl::StatusOr<Model> model = ImportOnnx(stripped->skeleton);
  if (!model.ok()) return failed("cannot be imported", model.status());
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  if (!bound.ok()) return failed("cannot be bound", bound.status());
  const StrippedWeights weights_in_file(*stripped);
  PLAIT_ASSIGN_OR_RETURN(const Materialized exported, AsImported(bound->graph, weights_in_file));
  // Expressions first, so that constants read in both graphs what they do in a file.
  PLAIT_ASSIGN_OR_RETURN(const Materialized whole, MaterializeConstants(graph, weights));
  // Rewrites may have brought operators together that a file means as integers.
  PLAIT_ASSIGN_OR_RETURN(const Graph meant, IntegerForm(whole.graph));
  PLAIT_ASSIGN_OR_RETURN(const Materialized verified, AsImported(meant, *whole.weights));
  if (verified.graph.fingerprint() == exported.graph.fingerprint()) return absl::OkStatus();
  const auto form_in_file = [&](const Graph& alone) { return form_of(alone, model->opset()); };
  const absl::StatusOr<Graph> forms = ProvenForms(verified.graph, form_in_file).Run();
  if (!forms.ok()) return failed("says something else", forms.status());
  PLAIT_ASSIGN_OR_RETURN(const Materialized expected,
                         MaterializeConstants(*forms, *verified.weights));
  if (expected.graph.fingerprint() == exported.graph.fingerprint()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "the exported model is not the graph that was verified: ", exported.graph.node_count(),
      " nodes in place of ", expected.graph.node_count()));
}

}  // namespace plait
