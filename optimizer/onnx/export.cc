#include "optimizer/onnx/export.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/expand_nodes.h"
#include "optimizer/onnx/export_names.h"
#include "optimizer/onnx/messages/attribute_proto.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/messages/tensor_proto.h"
#include "optimizer/onnx/messages/write_message.h"
#include "optimizer/onnx/model_parts.h"
#include "optimizer/onnx/node_version.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/onnx/value_info.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {

namespace {

// Before it, initializers had to be inputs as well.
constexpr int64_t kIrVersionMin = 4;

// The first IR version that may use an opset, from ONNX's table of versions; at least
// kIrVersionMin.
int64_t IrVersionFor(int opset) {
  struct Entry {
    int opset;
    int64_t ir_version;
  };
  constexpr Entry kTable[] = {{9, 4},   {10, 5},  {11, 6},  {14, 7},  {18, 8}, {20, 9},
                              {22, 10}, {23, 11}, {24, 12}, {27, 13}, {28, 14}};
  for (const Entry& entry : kTable) {
    if (opset <= entry.opset) return entry.ir_version;
  }
  return std::end(kTable)[-1].ir_version;
}

// The declaration of an input or output, with the shape that it has in the graph.
onnx::ValueInfoProto BoundDeclaration(const onnx::ValueInfoProto& declared,
                                      const TensorType& type) {
  onnx::ValueInfoProto bound = declared;
  if (!type.known()) return bound;
  // What was declared as no tensor keeps what it has beside its kind.
  onnx::TypeProto of_tensor;
  of_tensor.tensor_type = bound.type().tensor_type();
  of_tensor.kept = bound.type().kept;
  onnx::TypeProto::Tensor* const tensor = of_tensor.tensor_type.mutable_value();
  tensor->elem_type = static_cast<int32_t>(type.dtype);
  // Dimensions are overwritten one by one, so that their denotations stay.
  auto& dims = tensor->shape.mutable_value()->dim;
  if (dims.size() != type.shape.size()) dims.clear();
  dims.resize(type.shape.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i].dim_param.clear();
    dims[i].dim_value = type.shape[i];
  }
  bound.type = std::move(of_tensor);
  return bound;
}

// What stands for the inputs and outputs of what is written.
struct Declarations {
  std::vector<onnx::ValueInfoProto> inputs;
  std::vector<onnx::ValueInfoProto> outputs;
};

// The original's, with the shapes that they have in the graph.
Declarations DeclarationsOf(const Model& original, const Graph& graph) {
  const onnx::GraphProto& proto = original.parts()->proto.graph();
  absl::flat_hash_map<std::string, const onnx::ValueInfoProto*> declared;
  for (const auto& input : proto.input) declared[input.name()] = &input;
  Declarations declarations;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    declarations.inputs.push_back(
        BoundDeclaration(*declared.at(original.inputs()[i].name), graph.type(graph.inputs()[i])));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    declarations.outputs.push_back(
        BoundDeclaration(proto.output[i], graph.type(graph.outputs()[i])));
  }
  return declarations;
}

// Of a piece of the original's graph: types where they are known, what the original declares of
// outputs, and element types of the other inputs.
Declarations DeclarationsOfPiece(const Model& original, const Graph& piece,
                                 absl::Span<const DataType> input_types) {
  const onnx::GraphProto& proto = original.parts()->proto.graph();
  absl::flat_hash_map<std::string, const onnx::ValueInfoProto*> declared;
  for (const auto& value : proto.value_info) declared[value.name()] = &value;
  for (const auto& output : proto.output) declared[output.name()] = &output;
  Declarations declarations;
  for (size_t i = 0; i < piece.inputs().size(); ++i) {
    const TensorInfo& input = piece.tensor(piece.inputs()[i]);
    onnx::ValueInfoProto& value =
        declarations.inputs.emplace_back(WriteValueInfo(*input.name, input.type));
    if (input.type.known()) continue;
    onnx::TypeProto of_any_shape;
    of_any_shape.tensor_type.mutable_value()->elem_type = static_cast<int32_t>(input_types[i]);
    value.type = std::move(of_any_shape);
  }
  for (const TensorId id : piece.outputs()) {
    const TensorInfo& output = piece.tensor(id);
    const auto found = declared.find(*output.name);
    onnx::ValueInfoProto value;
    if (found != declared.end()) value = *found->second;
    value.name = *output.name;
    declarations.outputs.push_back(BoundDeclaration(value, output.type));
  }
  return declarations;
}

// Writes one graph. Each step appends to the model; initializers come last, because only then is it
// known which constants something written reads. Nothing is read from maps in their own order, so
// that equal arguments give equal bytes.
class Exporter {
 public:
  Exporter(const Model& model, const Graph& graph, const WeightSource& weights, ExportNames names)
      : original_(model.parts()->proto),
        graph_(graph),
        weights_(weights),
        names_(std::move(names)),
        needed_(graph.tensor_count()) {
    for (const onnx::NodeProto& node : original_.graph().node) {
      if (!node.output.empty()) original_nodes_.emplace(node.output[0], &node);
    }
  }

  absl::StatusOr<onnx::ModelProto> Run(Declarations declarations, int opset,
                                       absl::Span<const EmbeddedPlan> plans) {
    WriteHeader(plans);
    graph_out_.input = std::move(declarations.inputs);
    graph_out_.output = std::move(declarations.outputs);
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (graph_.tensor(id).producer == kNoNode) WriteIdentities(id);
    }
    for (NodeId id = 0; id < graph_.node_count(); ++id) {
      PLAIT_RETURN_IF_ERROR(graph_.node(id).op == OpKind::kOpaque ? WriteOpaqueNode(id)
                                                                  : WriteNode(id, opset));
      for (const TensorId output : graph_.node(id).outputs) {
        if (output != kNoTensor) WriteIdentities(output);
      }
    }
    for (const TensorId output : graph_.outputs()) needed_[output] = true;
    PLAIT_RETURN_IF_ERROR(WriteInitializers());
    WriteOpset(opset);
    model_.graph = std::move(graph_out_);
    return std::move(model_);
  }

 private:
  void WriteHeader(absl::Span<const EmbeddedPlan> plans) {
    model_.ir_version = std::max(original_.ir_version(), kIrVersionMin);
    model_.producer_name = original_.producer_name;
    model_.producer_version = original_.producer_version;
    model_.domain = original_.domain;
    model_.model_version = original_.model_version;
    model_.doc_string = original_.doc_string;
    for (const auto& entry : original_.metadata_props) {
      if (!absl::StartsWith(entry.key(), kMetadataPrefix)) model_.metadata_props.push_back(entry);
    }
    for (const auto& [key, value] : MetadataOf(plans)) AddMetadata(key, value);
    graph_out_.name = original_.graph().name();
    graph_out_.doc_string = original_.graph().doc_string;
  }

  // A model of foreign operators only may have gained some of ONNX's. One that has not keeps the IR
  // version that its readers know.
  void WriteOpset(int opset) {
    bool has_onnx = false;
    for (const auto& import : original_.opset_import) {
      model_.opset_import.push_back(import);
      if (!IsDefaultDomain(import.domain())) continue;
      model_.opset_import.back().version = opset;
      has_onnx = true;
    }
    const bool uses_onnx =
        std::any_of(graph_out_.node.begin(), graph_out_.node.end(),
                    [](const auto& node) { return IsDefaultDomain(node.domain()); });
    if (!has_onnx && !uses_onnx) return;
    if (!has_onnx) model_.opset_import.emplace_back().version = opset;
    model_.ir_version = std::max(model_.ir_version(), IrVersionFor(opset));
  }

  void AddMetadata(absl::string_view key, const std::string& value) {
    onnx::StringStringEntryProto& entry = model_.metadata_props.emplace_back();
    entry.key = std::string(key);
    entry.value = value;
  }

  // Right behind the producer, so that the file's nodes stay in topological order.
  void WriteIdentities(TensorId id) {
    for (const std::string& name : names_.identities(id)) {
      onnx::NodeProto& node = graph_out_.node.emplace_back();
      node.op_type = "Identity";
      node.input = {names_.of(id)};
      node.output = {name};
      needed_[id] = true;
    }
  }

  // An empty node, or the original's name, documentation and metadata where the graph still has it.
  onnx::NodeProto NodeLike(const Node& node, const std::string& output) const {
    onnx::NodeProto proto;
    const auto original = original_nodes_.find(output);
    if (original != original_nodes_.end() && original->second->op_type() == OpKindName(node.op) &&
        IsDefaultDomain(original->second->domain())) {
      // By copying and clearing, so that fields that nothing here knows stay.
      proto = *original->second;
      proto.input.clear();
      proto.output.clear();
      proto.attribute.clear();
    }
    proto.op_type = std::string(OpKindName(node.op));
    if (node.name != nullptr && !node.name->empty()) proto.name = *node.name;
    return proto;
  }

  absl::Status WriteNode(NodeId id, int opset) {
    const Node& node = graph_.node(id);
    PLAIT_ASSIGN_OR_RETURN(LoweredNode lowered, LowerNode(graph_, id, opset));
    onnx::NodeProto proto = NodeLike(node, names_.of(node.outputs[0]));
    for (const LoweredNode::Input& input : lowered.inputs) {
      if (input.value.has_value()) {
        const std::string name = names_.Fresh(absl::StrCat(names_.of(node.outputs[0]), "_value"));
        graph_out_.initializer.push_back(WriteTensorProto(*input.value, name));
        proto.input.push_back(name);
        continue;
      }
      proto.input.push_back(names_.of(input.tensor));
      if (input.tensor != kNoTensor) needed_[input.tensor] = true;
    }
    for (const TensorId output : node.outputs) proto.output.push_back(names_.of(output));
    for (const auto& [name, value] : lowered.attributes.entries()) {
      PLAIT_ASSIGN_OR_RETURN(proto.attribute.emplace_back(), WriteAttribute(name, value));
    }
    graph_out_.node.push_back(std::move(proto));
    return absl::OkStatus();
  }

  absl::Status WriteOpaqueNode(NodeId id) {
    const Node& node = graph_.node(id);
    PLAIT_ASSIGN_OR_RETURN(onnx::NodeProto proto, ReadOpaqueNode(node));
    // Explicit inputs only: what subgraphs capture, they read by the original's names
    // (ExportNames).
    for (size_t i = 0; i < proto.input.size(); ++i) proto.input[i] = names_.of(node.inputs[i]);
    for (const TensorId input : node.inputs) {
      if (input != kNoTensor) needed_[input] = true;
    }
    for (size_t i = 0; i < proto.output.size(); ++i) {
      const TensorId output = node.outputs[i];
      proto.output[i] = names_.of(output);
      // Nothing else tells a later import the type, which makes readers opaque.
      if (output == kNoTensor || !graph_.type(output).known() || graph_.is_output(output)) continue;
      graph_out_.value_info.push_back(WriteValueInfo(names_.of(output), graph_.type(output)));
    }
    graph_out_.node.push_back(std::move(proto));
    return absl::OkStatus();
  }

  absl::Status WriteInitializers() {
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const ConstantRef& constant = graph_.tensor(id).constant;
      if (constant == nullptr || !needed_[id]) continue;
      absl::StatusOr<Tensor> value = EvaluateConstant(*constant, weights_);
      if (!value.ok()) return Annotate(value.status(), names_.of(id));
      graph_out_.initializer.push_back(WriteTensorProto(*value, names_.of(id)));
    }
    return absl::OkStatus();
  }

  const onnx::ModelProto& original_;
  const Graph& graph_;
  const WeightSource& weights_;
  ExportNames names_;
  std::vector<bool> needed_;  // tensors that something written reads
  absl::flat_hash_map<std::string, const onnx::NodeProto*> original_nodes_;
  onnx::ModelProto model_;  // without its graph
  onnx::GraphProto graph_out_;
};

bool HasSubgraph(const onnx::NodeProto& node) {
  return std::any_of(node.attribute.begin(), node.attribute.end(), [](const auto& attribute) {
    return attribute.g.has() || !attribute.graphs.empty();
  });
}

}  // namespace

// An opaque node of ONNX's own domain means what its opset says: in another one it might mean
// something else, and so might ONNX's operators in a foreign node's subgraphs. Foreign domains have
// versions of their own, which do not change.
absl::Status CheckExportOpset(const Model& original, const Graph& graph, int opset) {
  if (opset == 0) return absl::OkStatus();
  if (opset < original.opset() || opset > kOpsetMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot export to opset ", opset, ": the model uses opset ", original.opset(),
                     " (give that or a newer one, up to ", kOpsetMax, ")"));
  }
  if (opset == original.opset()) return absl::OkStatus();
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kOpaque) continue;
    PLAIT_ASSIGN_OR_RETURN(onnx::NodeProto proto, ReadOpaqueNode(node));
    if (!IsDefaultDomain(proto.domain()) && !HasSubgraph(proto)) continue;
    for (size_t i = 0; i < proto.output.size(); ++i) {
      if (node.outputs[i] != kNoTensor) proto.output[i] = *graph.tensor(node.outputs[i]).name;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(NodeLabel(proto), ": ", proto.op_type(), " stays as it is in opset ",
                     original.opset(), ", so the model cannot be raised to opset ", opset));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ExportOnnx(const Model& original, const Graph& graph,
                                       const WeightSource& weights, const ExportOptions& options) {
  const int opset = options.opset == 0 ? original.opset() : options.opset;
  PLAIT_RETURN_IF_ERROR(CheckExportOpset(original, graph, opset));
  // Names are assigned to the expanded graph, whose new tensors need some too.
  PLAIT_ASSIGN_OR_RETURN(const Graph expanded, ExpandNodes(graph, opset));
  PLAIT_ASSIGN_OR_RETURN(ExportNames names, ExportNames::Assign(original, expanded));
  Exporter exporter(original, expanded, weights, std::move(names));
  PLAIT_ASSIGN_OR_RETURN(const onnx::ModelProto model,
                         exporter.Run(DeclarationsOf(original, expanded), opset, options.plans));
  return WriteMessage(model, "the exported model");
}

absl::StatusOr<std::string> ExportPiece(const Model& original, const Graph& piece,
                                        absl::Span<const DataType> input_types) {
  PLAIT_ASSIGN_OR_RETURN(const Graph expanded, ExpandNodes(piece, original.opset()));
  PLAIT_ASSIGN_OR_RETURN(ExportNames names, ExportNames::AssignOwn(expanded));
  const ModelWeights weights = original.weights();
  Exporter exporter(original, expanded, weights, std::move(names));
  PLAIT_ASSIGN_OR_RETURN(const onnx::ModelProto model,
                         exporter.Run(DeclarationsOfPiece(original, expanded, input_types),
                                      original.opset(), /*plans=*/{}));
  return WriteMessage(model, "a part of the model");
}

}  // namespace plait
