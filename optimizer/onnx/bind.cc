#include "optimizer/onnx/bind.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/integer_form/integer_form.h"
#include "optimizer/onnx/bind_inputs.h"
#include "optimizer/onnx/expand_nodes.h"
#include "optimizer/onnx/float32_form.h"
#include "optimizer/onnx/fold_node.h"
#include "optimizer/onnx/messages/attribute_proto.h"
#include "optimizer/onnx/messages/captured_names.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/model_parts.h"
#include "optimizer/onnx/node_version.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/onnx/value_info.h"

namespace plait {

namespace {

// Builds the graph of one model, node by node, in topological order. A node takes the first of four
// ways that it can: a Constant becomes a constant; what the IR does not know becomes opaque; what
// only constants decide is folded; all else becomes one node, raised to the newest opset. A node
// that cannot be raised (Unimplemented) turns out opaque as well: refusing a model is for what no
// runtime could run.
class Binder {
 public:
  explicit Binder(const ModelParts& parts) : parts_(parts) {
    bound_.warnings = parts.warnings;
    for (const auto& value : parts.proto.graph().value_info) {
      declared_.emplace(value.name(), ReadValueInfo(value));
    }
    for (const ModelValue& output : parts.outputs) declared_.emplace(output.name, output);
  }

  absl::StatusOr<Bound> Run(BoundInputs inputs, const InputValues& values) {
    symbols_ = std::move(inputs.symbols);
    for (size_t index = 0; index < parts_.inputs.size(); ++index) {
      const std::string& name = parts_.inputs[index].name;
      const auto value = values.find(name);
      if (value != values.end()) {
        AddConstant(name, Constant::OfTensor(value->second));
        continue;
      }
      tensors_[name] = builder_.AddInput(std::move(inputs.types[index]), name);
    }
    PLAIT_RETURN_IF_ERROR(AddInitializers());
    for (const int index : parts_.node_order) {
      const onnx::NodeProto& node = parts_.proto.graph().node[index];
      if (const absl::Status status = AddNode(node); !status.ok()) {
        return Annotate(status, NodeLabel(node));
      }
    }
    for (const ModelValue& output : parts_.outputs) {
      const TensorId tensor = tensors_.at(output.name);
      CompareWithDeclaration(output, builder_.tensor(tensor).type);
      builder_.AddOutput(tensor);
    }
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, std::move(builder_).Finish());
    PLAIT_ASSIGN_OR_RETURN(const Graph expanded, ExpandAtImport(graph));
    PLAIT_ASSIGN_OR_RETURN(const Graph wide, Float32Form(expanded));
    PLAIT_ASSIGN_OR_RETURN(bound_.graph, IntegerForm(wide));
    return std::move(bound_);
  }

 private:
  // All of them, used or not: subgraphs of opaque nodes may read them by name.
  absl::Status AddInitializers() {
    for (const onnx::TensorProto& initializer : parts_.proto.graph().initializer) {
      const auto constant = parts_.constants.find(initializer.name());
      if (constant != parts_.constants.end()) {
        AddConstant(initializer.name(), constant->second);
        continue;
      }
      onnx::AttributeProto value;
      value.type = onnx::AttributeProto::kTensor;
      value.name = "value";
      value.t = initializer;
      PLAIT_RETURN_IF_ERROR(AddOpaqueConstant(initializer.name(), value));
    }
    for (const auto& initializer : parts_.proto.graph().sparse_initializer) {
      onnx::AttributeProto value;
      value.type = onnx::AttributeProto::kSparseTensor;
      value.name = "sparse_value";
      value.sparse_tensor = initializer;
      PLAIT_RETURN_IF_ERROR(AddOpaqueConstant(initializer.values().name(), value));
    }
    return absl::OkStatus();
  }

  // An initializer that the IR cannot hold becomes an opaque Constant node.
  absl::Status AddOpaqueConstant(const std::string& name, const onnx::AttributeProto& value) {
    onnx::NodeProto node;
    node.op_type = "Constant";
    node.output = {name};
    node.attribute = {value};
    return AddOpaque(node, "the IR has no tensors of this kind");
  }

  void AddConstant(const std::string& name, ConstantRef constant) {
    tensors_[name] = builder_.AddConstant(std::move(constant), name);
  }

  absl::Status AddNode(const onnx::NodeProto& node) {
    if (node.op_type() == "Constant" && IsDefaultDomain(node.domain())) {
      const auto constant = parts_.constants.find(node.output[0]);
      if (constant == parts_.constants.end()) {
        return AddOpaque(node, "the IR has no tensors of this kind");
      }
      AddConstant(node.output[0], constant->second);
      return absl::OkStatus();
    }
    if (const std::optional<std::string> reason = WhyOpaque(node)) return AddOpaque(node, *reason);
    absl::Status status = AddKnown(node, *OpKindFromName(node.op_type()));
    if (!absl::IsUnimplemented(status)) return status;
    return AddOpaque(node, std::string(status.message()));
  }

  std::optional<std::string> WhyOpaque(const onnx::NodeProto& node) const {
    if (!IsDefaultDomain(node.domain())) {
      return absl::StrCat("operator of domain '", node.domain(), "'");
    }
    if (!OpKindFromName(node.op_type()).has_value()) return "unknown operator";
    for (const std::string& input : node.input) {
      if (!input.empty() && !builder_.tensor(tensors_.at(input)).type.known()) {
        return absl::StrCat("the type of its input '", input, "' is not known");
      }
    }
    return std::nullopt;
  }

  absl::Status AddKnown(const onnx::NodeProto& proto, OpKind op) {
    Node node;
    node.op = op;
    PLAIT_ASSIGN_OR_RETURN(Attributes attributes, ReadAttributes(proto));
    node.attributes = MakeAttributes(std::move(attributes));
    if (!proto.name().empty()) node.name = std::make_shared<const std::string>(proto.name());
    for (const std::string& input : proto.input) {
      node.inputs.push_back(input.empty() ? kNoTensor : tensors_.at(input));
    }
    // Omitted at the end and not listed at all are the same; the shorter form is the canonical one.
    while (!node.inputs.empty() && node.inputs.back() == kNoTensor) node.inputs.pop_back();
    std::vector<std::string> names(proto.output.begin(), proto.output.end());
    while (!names.empty() && names.back().empty()) names.pop_back();
    if (names.empty()) return absl::OkStatus();  // nothing can read it
    const int output_count = static_cast<int>(names.size());
    // Older opsets cut into as many parts as are listed, whether anything reads them or not.
    const int count = op == OpKind::kSplit ? static_cast<int>(proto.output.size()) : output_count;
    PLAIT_ASSIGN_OR_RETURN(node, RaiseNode(std::move(node), parts_.opset, count, &builder_));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                           InferTypes(builder_, node, output_count));
    for (int i = 0; i < output_count; ++i) {
      PLAIT_RETURN_IF_ERROR(CheckElementType(names[i], types[i].dtype));
    }
    if (const auto constants = FoldNode(builder_, node, types)) {
      for (int i = 0; i < output_count; ++i) {
        if (!names[i].empty()) AddConstant(names[i], (*constants)[i]);
      }
      return absl::OkStatus();
    }
    AddToGraph(std::move(node), types, names);
    return absl::OkStatus();
  }

  absl::Status AddOpaque(const onnx::NodeProto& proto, std::string reason) {
    PLAIT_ASSIGN_OR_RETURN(Node node, MakeOpaqueNode(proto));
    for (const std::string& input : proto.input) {
      node.inputs.push_back(input.empty() ? kNoTensor : tensors_.at(input));
    }
    for (const std::string& name : CapturedNames(proto)) node.inputs.push_back(tensors_.at(name));
    // Nothing can be inferred through an opaque node: what the file declares has to do.
    std::vector<TensorType> types;
    for (const std::string& output : proto.output) {
      const auto declared = declared_.find(output);
      types.push_back(declared == declared_.end() ? TensorType{}
                                                  : ResolveType(declared->second, symbols_));
    }
    bound_.opaque_nodes.push_back(
        {NodeLabel(proto), proto.op_type(), proto.domain(), std::move(reason)});
    AddToGraph(std::move(node), types, {proto.output.begin(), proto.output.end()});
    return absl::OkStatus();
  }

  void AddToGraph(Node node, const std::vector<TensorType>& types,
                  const std::vector<std::string>& names) {
    // Not vector<bool>, which has no array to take a span of.
    const auto omitted = std::make_unique<bool[]>(names.size());
    for (size_t i = 0; i < names.size(); ++i) omitted[i] = names[i].empty();
    const std::vector<TensorId> outputs = builder_.AddNode(
        std::move(node), types, names, absl::MakeConstSpan(omitted.get(), names.size()));
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) tensors_[names[i]] = outputs[i];
    }
  }

  // Who reads a value as something else than it is was promised something else: such a file is
  // wrong in a way that cannot be repaired by guessing.
  absl::Status CheckElementType(const std::string& name, DataType dtype) const {
    const auto declared = declared_.find(name);
    if (declared == declared_.end() || declared->second.dtype == DataType::kUndefined ||
        dtype == DataType::kUndefined || declared->second.dtype == dtype) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("its output '", name, "' is declared as ",
                                                   DataTypeName(declared->second.dtype),
                                                   ", but is ", DataTypeName(dtype)));
  }

  // A shape that is declared wrongly harms nobody but readers of the file: inference decides.
  void CompareWithDeclaration(const ModelValue& output, const TensorType& type) {
    const TensorType declared = ResolveType(output, symbols_);
    if (!declared.known() || !type.known() || declared == type) return;
    bound_.warnings.push_back(absl::StrCat("output '", output.name, "' is declared as ",
                                           declared.ToString(), ", but computed as ",
                                           type.ToString()));
  }

  const ModelParts& parts_;
  absl::flat_hash_map<std::string, ModelValue> declared_;
  SymbolSizes symbols_;
  GraphBuilder builder_;
  absl::flat_hash_map<std::string, TensorId> tensors_;
  Bound bound_;
};

}  // namespace

absl::StatusOr<Bound> Bind(const Model& model, const Bindings& shapes) {
  return Bind(model, shapes, {});
}

absl::StatusOr<Bound> Bind(const Model& model, const Bindings& shapes, const InputValues& values) {
  PLAIT_ASSIGN_OR_RETURN(BoundInputs inputs, BindInputs(model, shapes));
  return Binder(*model.parts()).Run(std::move(inputs), values);
}

}  // namespace plait
