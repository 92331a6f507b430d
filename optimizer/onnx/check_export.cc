#include "optimizer/onnx/check_export.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/expand_nodes.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/materialize_constants.h"
#include "optimizer/onnx/node_version.h"
#include "optimizer/onnx/strip.h"

namespace plait {
namespace {

// The node as `opset` writes it, with inputs of the copy.
absl::StatusOr<Node> LoweredCopy(const Graph& graph, NodeId id, int opset, GraphCopier& copier,
                                 GraphBuilder& builder) {
  PLAIT_ASSIGN_OR_RETURN(const LoweredNode lowered, LowerNode(graph, id, opset));
  Node copy = graph.node(id);
  copy.outputs.clear();
  copy.inputs.clear();
  for (const LoweredNode::Input& input : lowered.inputs) {
    copy.inputs.push_back(input.value.has_value()
                              ? builder.AddConstant(Constant::OfTensor(*input.value))
                              : copier.TensorOf(input.tensor));
  }
  copy.attributes = std::make_shared<const Attributes>(lowered.attributes);
  return copy;
}

// The graph as it stands in a file of that opset, but for Identity nodes. An older form may say the
// same in fewer ways: axes made positive are the axes that they were.
absl::StatusOr<Graph> WrittenGraph(const Graph& graph, const WeightSource& weights, int opset) {
  PLAIT_ASSIGN_OR_RETURN(const Graph expanded, ExpandNodes(graph, opset));
  PLAIT_ASSIGN_OR_RETURN(const Materialized whole, MaterializeConstants(expanded, weights));
  GraphBuilder builder;
  GraphCopier copier(whole.graph, &builder);
  for (NodeId id = 0; id < whole.graph.node_count(); ++id) {
    const Node& node = whole.graph.node(id);
    if (node.op == OpKind::kIdentity) {
      copier.Set(node.outputs[0], copier.TensorOf(node.inputs[0]));
    } else if (node.op == OpKind::kOpaque) {
      copier.CopyNode(id);
    } else {
      PLAIT_ASSIGN_OR_RETURN(Node copy, LoweredCopy(whole.graph, id, opset, copier, builder));
      copier.CopyNodeAs(id, std::move(copy));
    }
  }
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

// Weights out of the exported bytes; hardly one is asked for, as a file holds no expressions.
class WeightsInFile : public WeightSource {
 public:
  explicit WeightsInFile(const Stripped& stripped) : stripped_(stripped) {}

  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override {
    const auto found = stripped_.weights.find(digest);
    if (found == stripped_.weights.end() || type.bytes() != digest.size_bytes) {
      return absl::NotFoundError(absl::StrCat("weight ", digest.ToString(), " is not in the file"));
    }
    // A copy: where it lies in the file suits no element.
    return Tensor(type, std::string(found->second));
  }

 private:
  const Stripped& stripped_;
};

}  // namespace

// Without a copy of the weights, which may be gigabytes: what is imported is the file's skeleton,
// with the digests of weights in the place of their bytes.
absl::Status CheckExport(absl::string_view bytes, const Graph& graph, const WeightSource& weights) {
  const auto failed = [](absl::string_view what, const absl::Status& status) {
    return absl::InternalError(absl::StrCat("the exported model ", what, ": ", status.message()));
  };
  const absl::StatusOr<Stripped> stripped = StripWeights(bytes);
  if (!stripped.ok()) return failed("cannot be read", stripped.status());
  const absl::StatusOr<Model> model = ImportOnnx(stripped->skeleton);
  if (!model.ok()) return failed("cannot be imported", model.status());
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  if (!bound.ok()) return failed("cannot be bound", bound.status());
  PLAIT_ASSIGN_OR_RETURN(const Graph verified, WrittenGraph(graph, weights, model->opset()));
  PLAIT_ASSIGN_OR_RETURN(const Graph exported,
                         WrittenGraph(bound->graph, WeightsInFile(*stripped), model->opset()));
  if (verified.fingerprint() == exported.fingerprint()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the exported model is not the graph that was verified: ", exported.node_count(),
                   " nodes in place of ", verified.node_count()));
}

}  // namespace plait
