#include "optimizer/onnx/export_names.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/captured_names.h"
#include "optimizer/onnx/opaque_node.h"

namespace plait {

// A name that is required twice belongs to equal values: rewrites keep what names stand for.
void ExportNames::Require(TensorId id, const std::string& name) {
  if (!used_.insert(name).second) return;
  if (names_[id].empty()) {
    names_[id] = name;
  } else {
    identities_[id].push_back(name);
  }
}

// "stem", "stem_1", "stem_2" and so on: the same for equal graphs.
std::string ExportNames::Fresh(const std::string& stem) {
  std::string name = stem;
  for (int suffix = 1; name.empty() || !used_.insert(name).second; ++suffix) {
    name = absl::StrCat(stem, "_", suffix);
  }
  return name;
}

const std::string& ExportNames::of(TensorId id) const {
  static const std::string omitted;
  return id == kNoTensor ? omitted : names_[id];
}

absl::StatusOr<ExportNames> ExportNames::Assign(const Model& model, const Graph& graph) {
  if (graph.inputs().size() != model.inputs().size() ||
      graph.outputs().size() != model.outputs().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph has ", graph.inputs().size(), " inputs and ",
                     graph.outputs().size(), " outputs, the model it is exported for ",
                     model.inputs().size(), " and ", model.outputs().size()));
  }
  ExportNames names(graph.tensor_count());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    names.Require(graph.inputs()[i], model.inputs()[i].name);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    names.Require(graph.outputs()[i], model.outputs()[i].name);
  }
  PLAIT_RETURN_IF_ERROR(names.AssignOthers(graph));
  return names;
}

absl::StatusOr<ExportNames> ExportNames::AssignOwn(const Graph& piece) {
  ExportNames names(piece.tensor_count());
  for (const TensorId input : piece.inputs()) names.Require(input, *piece.tensor(input).name);
  for (const TensorId output : piece.outputs()) names.Require(output, *piece.tensor(output).name);
  PLAIT_RETURN_IF_ERROR(names.AssignOthers(piece));
  return names;
}

absl::Status ExportNames::AssignOthers(const Graph& graph) {
  // Names that are promised come first: inputs, outputs, and what subgraphs read. Then the names
  // that subgraphs define, which nothing outside may have. What is left over gets its own name, or
  // a fresh one where that is gone.
  std::vector<std::string> inner_names;
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kOpaque) continue;
    PLAIT_ASSIGN_OR_RETURN(const onnx::NodeProto proto, ReadOpaqueNode(node));
    const std::vector<std::string> captured = CapturedNames(proto);
    for (size_t i = 0; i < captured.size(); ++i) {
      const TensorId tensor = node.inputs[proto.input.size() + i];
      if (tensor == kNoTensor) {
        return absl::InvalidArgumentError(
            absl::StrCat("an opaque node lost the value '", captured[i], "' of its subgraph"));
      }
      Require(tensor, captured[i]);
    }
    const std::vector<std::string> inner = InnerNames(proto);
    inner_names.insert(inner_names.end(), inner.begin(), inner.end());
  }
  used_.insert(inner_names.begin(), inner_names.end());
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (names_[id].empty()) names_[id] = Fresh(*graph.tensor(id).name);
  }
  return absl::OkStatus();
}

}  // namespace plait
