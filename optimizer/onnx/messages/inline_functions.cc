#include "optimizer/onnx/messages/inline_functions.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/protobuf_guard.h"

namespace plait {

namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

// Fields that onnx 1.12 does not know yet.
constexpr int kNodeOverloadField = 8;
constexpr int kFunctionOverloadField = 13;
constexpr int kFunctionAttributeDefaultField = 11;

// Domain, then name.
using FunctionKey = std::pair<std::string, std::string>;
using Attributes = absl::flat_hash_map<std::string, AttributeProto>;

FunctionKey KeyOf(const std::string& domain, const std::string& name) {
  return {IsDefaultDomain(domain) ? "" : domain, name};
}

// A model-local function, with the defaults that it gives to attributes.
struct Function {
  FunctionProto proto;
  Attributes defaults;
  bool open = false;  // being expanded: a call of it is a recursion
};

// Names and attributes of one call, as its body sees them.
struct Call {
  std::string prefix;
  absl::flat_hash_map<std::string, std::string> names;
  Attributes attributes;

  std::string Rename(const std::string& name) const {
    if (name.empty()) return name;
    const auto found = names.find(name);
    return found == names.end() ? absl::StrCat(prefix, name) : found->second;
  }
};

void BindNode(const Call& call, NodeProto* node);

// A subgraph of the body is part of it: its names are prefixed like all others.
void BindGraph(const Call& call, GraphProto* graph) {
  for (auto& input : *graph->mutable_input()) input.set_name(call.Rename(input.name()));
  for (auto& output : *graph->mutable_output()) output.set_name(call.Rename(output.name()));
  for (auto& value : *graph->mutable_value_info()) value.set_name(call.Rename(value.name()));
  for (auto& initializer : *graph->mutable_initializer()) {
    initializer.set_name(call.Rename(initializer.name()));
  }
  for (auto& sparse : *graph->mutable_sparse_initializer()) {
    sparse.mutable_values()->set_name(call.Rename(sparse.values().name()));
  }
  for (NodeProto& node : *graph->mutable_node()) BindNode(call, &node);
}

// Renames what the node reads and writes, and puts the call's attributes where it refers to them.
void BindNode(const Call& call, NodeProto* node) {
  if (!node->name().empty()) node->set_name(absl::StrCat(call.prefix, node->name()));
  for (std::string& input : *node->mutable_input()) input = call.Rename(input);
  for (std::string& output : *node->mutable_output()) output = call.Rename(output);
  google::protobuf::RepeatedPtrField<AttributeProto> attributes;
  attributes.Swap(node->mutable_attribute());
  for (AttributeProto& attribute : attributes) {
    if (!attribute.ref_attr_name().empty()) {
      const auto given = call.attributes.find(attribute.ref_attr_name());
      if (given == call.attributes.end()) continue;  // an optional attribute that was not given
      const std::string name = attribute.name();
      attribute = given->second;
      attribute.set_name(name);
    } else {
      // A given attribute belongs to the caller's scope: only the body's own subgraphs are renamed.
      if (attribute.has_g()) BindGraph(call, attribute.mutable_g());
      for (GraphProto& graph : *attribute.mutable_graphs()) BindGraph(call, &graph);
    }
    *node->add_attribute() = std::move(attribute);
  }
}

NodeProto IdentityNode(const std::string& from, const std::string& to) {
  NodeProto node;
  node.set_op_type("Identity");
  node.add_input(from);
  node.add_output(to);
  return node;
}

// Expands calls depth first, each body anew for each call: a body's own calls are expanded after
// its names were bound, so that prefixes nest. A function that is being expanded is `open`; meeting
// it again is recursion. Every node written and every call made counts, so that a few functions
// that call each other twice cannot grow a model without bound.
class Inliner {
 public:
  absl::Status AddFunctions(const onnx::ModelProto& model) {
    for (const FunctionProto& proto : model.functions()) {
      PLAIT_RETURN_IF_ERROR(CheckFunction(model, proto));
      Function function{proto, {}};
      for (const std::string& bytes : DefaultsOf(proto)) {
        AttributeProto attribute;
        PLAIT_RETURN_IF_ERROR(ParseProto(bytes, "attribute of a function", &attribute));
        function.defaults[attribute.name()] = attribute;
      }
      const FunctionKey key = KeyOf(proto.domain(), proto.name());
      if (!functions_.emplace(key, std::move(function)).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("function '", proto.name(), "' is defined twice"));
      }
    }
    return absl::OkStatus();
  }

  // Rewrites a list of nodes, of a graph or of a function's body.
  absl::Status Expand(google::protobuf::RepeatedPtrField<NodeProto>* nodes) {
    google::protobuf::RepeatedPtrField<NodeProto> given;
    given.Swap(nodes);
    for (NodeProto& node : given) {
      PLAIT_RETURN_IF_ERROR(ExpandSubgraphs(&node));
      const auto function = functions_.find(KeyOf(node.domain(), node.op_type()));
      if (function == functions_.end()) {
        PLAIT_RETURN_IF_ERROR(Count());
        *nodes->Add() = std::move(node);
        continue;
      }
      PLAIT_RETURN_IF_ERROR(ExpandCall(node, &function->second, nodes));
    }
    return absl::OkStatus();
  }

 private:
  // What would need more than renaming is refused with the tool that can do it.
  static absl::Status CheckFunction(const onnx::ModelProto& model, const FunctionProto& function) {
    PLAIT_ASSIGN_OR_RETURN(const std::string bytes, SerializeProto(function, "function"));
    if (!FindWireField(bytes, kFunctionOverloadField).value_or("").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("function '", function.name(),
                       "' is overloaded, which plait does not support "
                       "(inline functions with onnx.inliner first)"));
    }
    for (const auto& import : function.opset_import()) {
      for (const auto& own : model.opset_import()) {
        const bool same_domain = KeyOf(own.domain(), "") == KeyOf(import.domain(), "");
        if (!same_domain || own.version() == import.version()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("function '", function.name(), "' imports opset ", import.version(),
                         " of '", import.domain(), "', the model opset ", own.version(),
                         " (inline functions with onnx.inliner first)"));
      }
    }
    return absl::OkStatus();
  }

  // The serialized attributes that a function has defaults for.
  static std::vector<std::string> DefaultsOf(const FunctionProto& function) {
    std::vector<std::string> defaults;
    const absl::StatusOr<std::string> bytes = SerializeProto(function, "function");
    if (!bytes.ok()) return defaults;
    WireReader reader(*bytes);
    while (true) {
      const absl::StatusOr<std::optional<WireField>> field = reader.Next();
      if (!field.ok() || !field->has_value()) return defaults;
      if ((*field)->number == kFunctionAttributeDefaultField && (*field)->is_message()) {
        defaults.emplace_back((*field)->payload);
      }
    }
  }

  absl::Status Count() {
    if (++nodes_ <= kModelNodesMax) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the model's functions expand to more than ", kModelNodesMax, " nodes"));
  }

  absl::Status ExpandSubgraphs(NodeProto* node) {
    for (AttributeProto& attribute : *node->mutable_attribute()) {
      if (attribute.has_g()) {
        PLAIT_RETURN_IF_ERROR(Expand(attribute.mutable_g()->mutable_node()));
      }
      for (GraphProto& graph : *attribute.mutable_graphs()) {
        PLAIT_RETURN_IF_ERROR(Expand(graph.mutable_node()));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Call> MakeCall(const NodeProto& node, const Function& function) {
    PLAIT_ASSIGN_OR_RETURN(const std::string bytes, SerializeProto(node, "node"));
    if (!FindWireField(bytes, kNodeOverloadField).value_or("").empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          NodeLabel(node), ": calls an overloaded function, which plait does not support"));
    }
    const FunctionProto& proto = function.proto;
    if (node.input_size() > proto.input_size() || node.output_size() > proto.output_size()) {
      return absl::InvalidArgumentError(absl::StrCat(NodeLabel(node),
                                                     ": has more inputs or outputs than function '",
                                                     proto.name(), "' declares"));
    }
    Call call;
    call.prefix = absl::StrCat(proto.name(), "_", calls_++, "/");
    for (int i = 0; i < proto.input_size(); ++i) {
      call.names[proto.input(i)] = i < node.input_size() ? node.input(i) : "";
    }
    for (int i = 0; i < node.output_size(); ++i) {
      // A function may return its input; the call then ends in an Identity.
      if (!node.output(i).empty()) call.names.emplace(proto.output(i), node.output(i));
    }
    call.attributes = function.defaults;
    for (const AttributeProto& attribute : node.attribute()) {
      call.attributes[attribute.name()] = attribute;
    }
    return call;
  }

  absl::Status ExpandCall(const NodeProto& node, Function* function,
                          google::protobuf::RepeatedPtrField<NodeProto>* out) {
    if (function->open) {
      return absl::InvalidArgumentError(
          absl::StrCat("function '", function->proto.name(), "' calls itself"));
    }
    // An empty body costs a step as well: calls of calls of it could go on for ever.
    PLAIT_RETURN_IF_ERROR(Count());
    PLAIT_ASSIGN_OR_RETURN(const Call call, MakeCall(node, *function));
    // A copy: the next call binds other names.
    google::protobuf::RepeatedPtrField<NodeProto> body = function->proto.node();
    for (NodeProto& inner : body) BindNode(call, &inner);
    if (++depth_ > kFunctionDepthMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("functions call each other more than ", kFunctionDepthMax, " deep"));
    }
    function->open = true;
    const absl::Status expanded = Expand(&body);
    function->open = false;
    --depth_;
    PLAIT_RETURN_IF_ERROR(expanded);
    for (NodeProto& inner : body) *out->Add() = std::move(inner);
    // An output that already had a name, such as an input that is returned, gets a second one.
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string source = call.Rename(function->proto.output(i));
      if (!node.output(i).empty() && source != node.output(i)) {
        *out->Add() = IdentityNode(source, node.output(i));
      }
    }
    return absl::OkStatus();
  }

  absl::flat_hash_map<FunctionKey, Function> functions_;
  int64_t nodes_ = 0;
  int64_t calls_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::Status InlineFunctions(onnx::ModelProto* model) {
  if (model->functions_size() == 0) return absl::OkStatus();
  Inliner inliner;
  PLAIT_RETURN_IF_ERROR(inliner.AddFunctions(*model));
  PLAIT_RETURN_IF_ERROR(inliner.Expand(model->mutable_graph()->mutable_node()));
  model->clear_functions();
  return absl::OkStatus();
}

}  // namespace plait
