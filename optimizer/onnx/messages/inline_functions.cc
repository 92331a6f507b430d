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

// 512 MiB: what 100,000 nodes of calls take, several times over. Counting nodes alone would let a
// file of a few megabytes, with one large tensor in a function that is called often, take any
// amount.
constexpr int64_t kInlinedBytesMax = int64_t{512} << 20;

// What inlining may take in memory, in all; nothing is given back.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : bytes_(bytes), bytes_left_(bytes) {}

  // To be called before the memory is taken.
  absl::Status Take(size_t bytes) {
    bytes_left_ -= static_cast<int64_t>(bytes);
    if (bytes_left_ >= 0) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the model's functions expand to more than ", bytes_, " bytes"));
  }

 private:
  const int64_t bytes_;
  int64_t bytes_left_;
};

// A model-local function, with the defaults that it gives to attributes.
struct Function {
  FunctionProto proto;
  Attributes defaults;
  size_t body_bytes = 0;      // in memory
  size_t defaults_bytes = 0;  // in memory
  bool open = false;          // being expanded: a call of it is a recursion
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

// Makes a copy of a function's body that of one call. A body's bytes are paid for when it is
// copied; what binding adds, longer names and given attributes, is paid for here.
class Binder {
 public:
  // Both outlive it.
  Binder(const Call& call, MemoryBudget& budget) : call_(call), budget_(budget) {}

  // Renames what the node reads and writes, and puts the call's attributes where it refers to them.
  absl::Status BindNode(NodeProto* node) {
    if (!node->name().empty()) {
      PLAIT_RETURN_IF_ERROR(budget_.Take(call_.prefix.size()));
      node->set_name(absl::StrCat(call_.prefix, node->name()));
    }
    for (std::string& input : *node->mutable_input()) PLAIT_RETURN_IF_ERROR(Rename(&input));
    for (std::string& output : *node->mutable_output()) PLAIT_RETURN_IF_ERROR(Rename(&output));
    google::protobuf::RepeatedPtrField<AttributeProto> attributes;
    attributes.Swap(node->mutable_attribute());
    for (AttributeProto& attribute : attributes) {
      if (attribute.ref_attr_name().empty()) {
        PLAIT_RETURN_IF_ERROR(BindSubgraphs(&attribute));
      } else {
        const auto given = call_.attributes.find(attribute.ref_attr_name());
        if (given == call_.attributes.end()) continue;  // an optional one that was not given
        PLAIT_RETURN_IF_ERROR(budget_.Take(given->second.SpaceUsedLong()));
        const std::string name = attribute.name();
        attribute = given->second;
        attribute.set_name(name);
      }
      *node->add_attribute() = std::move(attribute);
    }
    return absl::OkStatus();
  }

 private:
  // A given attribute belongs to the caller's scope: only the body's own subgraphs are renamed.
  absl::Status BindSubgraphs(AttributeProto* attribute) {
    if (attribute->has_g()) PLAIT_RETURN_IF_ERROR(BindGraph(attribute->mutable_g()));
    for (GraphProto& graph : *attribute->mutable_graphs()) {
      PLAIT_RETURN_IF_ERROR(BindGraph(&graph));
    }
    return absl::OkStatus();
  }

  // A subgraph of the body is part of it: its names are prefixed like all others.
  absl::Status BindGraph(GraphProto* graph) {
    for (auto& input : *graph->mutable_input()) {
      PLAIT_RETURN_IF_ERROR(Rename(input.mutable_name()));
    }
    for (auto& output : *graph->mutable_output()) {
      PLAIT_RETURN_IF_ERROR(Rename(output.mutable_name()));
    }
    for (auto& value : *graph->mutable_value_info()) {
      PLAIT_RETURN_IF_ERROR(Rename(value.mutable_name()));
    }
    for (auto& initializer : *graph->mutable_initializer()) {
      PLAIT_RETURN_IF_ERROR(Rename(initializer.mutable_name()));
    }
    for (auto& sparse : *graph->mutable_sparse_initializer()) {
      PLAIT_RETURN_IF_ERROR(Rename(sparse.mutable_values()->mutable_name()));
    }
    for (NodeProto& node : *graph->mutable_node()) PLAIT_RETURN_IF_ERROR(BindNode(&node));
    return absl::OkStatus();
  }

  absl::Status Rename(std::string* name) {
    std::string renamed = call_.Rename(*name);
    PLAIT_RETURN_IF_ERROR(budget_.Take(renamed.size()));
    *name = std::move(renamed);
    return absl::OkStatus();
  }

  const Call& call_;
  MemoryBudget& budget_;
};

NodeProto IdentityNode(const std::string& from, const std::string& to) {
  NodeProto node;
  node.set_op_type("Identity");
  node.add_input(from);
  node.add_output(to);
  return node;
}

// Expands calls depth first, each body anew for each call: a body's own calls are expanded after
// its names were bound, so that prefixes nest. A function that is being expanded is `open`; meeting
// it again is recursion. Every node written, every call made and every byte copied counts, so that
// a few functions that call each other twice cannot grow a model without bound.
class Inliner {
 public:
  explicit Inliner(int64_t model_bytes) : budget_(kInlinedBytesMax + model_bytes) {}

  absl::Status AddFunctions(const onnx::ModelProto& model) {
    for (const FunctionProto& proto : model.functions()) {
      PLAIT_RETURN_IF_ERROR(CheckFunction(model, proto));
      Function function{proto, {}};
      function.body_bytes = proto.node().SpaceUsedExcludingSelfLong();
      for (const std::string& bytes : DefaultsOf(proto)) {
        AttributeProto attribute;
        PLAIT_RETURN_IF_ERROR(ParseProto(bytes, "attribute of a function", &attribute));
        function.defaults_bytes += attribute.SpaceUsedLong();
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
    // The call's attributes, and the body.
    PLAIT_RETURN_IF_ERROR(budget_.Take(node.SpaceUsedLong() + function->defaults_bytes));
    PLAIT_RETURN_IF_ERROR(budget_.Take(function->body_bytes));
    PLAIT_ASSIGN_OR_RETURN(const Call call, MakeCall(node, *function));
    // A copy: the next call binds other names.
    google::protobuf::RepeatedPtrField<NodeProto> body = function->proto.node();
    Binder binder(call, budget_);
    for (NodeProto& inner : body) PLAIT_RETURN_IF_ERROR(binder.BindNode(&inner));
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

  MemoryBudget budget_;
  absl::flat_hash_map<FunctionKey, Function> functions_;
  int64_t nodes_ = 0;
  int64_t calls_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::Status InlineFunctions(onnx::ModelProto* model) {
  if (model->functions_size() == 0) return absl::OkStatus();
  Inliner inliner(static_cast<int64_t>(model->SpaceUsedLong()));
  PLAIT_RETURN_IF_ERROR(inliner.AddFunctions(*model));
  PLAIT_RETURN_IF_ERROR(inliner.Expand(model->mutable_graph()->mutable_node()));
  model->clear_functions();
  return absl::OkStatus();
}

}  // namespace plait
