#include "optimizer/onnx/messages/inline_functions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/memory_bytes.h"
#include "optimizer/onnx/messages/node_label.h"

namespace plait {

namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

// Domain, then name.
using FunctionKey = std::pair<std::string, std::string>;
using AttributeProtos = absl::flat_hash_map<std::string, AttributeProto>;

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
  absl::Status Take(int64_t bytes) {
    bytes_left_ -= bytes;
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
  AttributeProtos defaults;
  int64_t body_bytes = 0;      // in memory
  int64_t defaults_bytes = 0;  // in memory
  bool open = false;           // being expanded: a call of it is a recursion
  bool is_imported = false;    // what it imports is among the model's imports
  bool is_overloaded = false;  // others have its name, or could have
};

// What a call keeps of each input and output, beside the name itself, which takes time, too.
constexpr int64_t kNameBytes = 256;

int64_t NamesBytes(const std::vector<std::string>& names) {
  int64_t bytes = 0;
  for (const std::string& name : names) bytes += kNameBytes + static_cast<int64_t>(name.size());
  return bytes;
}

// Names and attributes of one call, as its body sees them.
struct Call {
  std::string prefix;
  absl::flat_hash_map<std::string, std::string> names;
  AttributeProtos attributes;

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
      PLAIT_RETURN_IF_ERROR(budget_.Take(static_cast<int64_t>(call_.prefix.size())));
      node->name = absl::StrCat(call_.prefix, node->name());
    }
    for (std::string& input : node->input) PLAIT_RETURN_IF_ERROR(Rename(&input));
    for (std::string& output : node->output) PLAIT_RETURN_IF_ERROR(Rename(&output));
    for (AttributeProto& attribute : std::exchange(node->attribute, {})) {
      if (attribute.ref_attr_name().empty()) {
        PLAIT_RETURN_IF_ERROR(BindSubgraphs(&attribute));
      } else {
        const auto given = call_.attributes.find(attribute.ref_attr_name());
        if (given == call_.attributes.end()) continue;  // an optional one that was not given
        PLAIT_RETURN_IF_ERROR(budget_.Take(MemoryBytes(given->second)));
        const std::string name = attribute.name();
        attribute = given->second;
        attribute.name = name;
      }
      node->attribute.push_back(std::move(attribute));
    }
    return absl::OkStatus();
  }

 private:
  // A given attribute belongs to the caller's scope: only the body's own subgraphs are renamed.
  absl::Status BindSubgraphs(AttributeProto* attribute) {
    if (attribute->g.has()) PLAIT_RETURN_IF_ERROR(BindGraph(attribute->g.mutable_value()));
    for (GraphProto& graph : attribute->graphs) {
      PLAIT_RETURN_IF_ERROR(BindGraph(&graph));
    }
    return absl::OkStatus();
  }

  // A subgraph of the body is part of it: its names are prefixed like all others.
  absl::Status BindGraph(GraphProto* graph) {
    for (auto& input : graph->input) {
      PLAIT_RETURN_IF_ERROR(Rename(input.name.mutable_value()));
    }
    for (auto& output : graph->output) {
      PLAIT_RETURN_IF_ERROR(Rename(output.name.mutable_value()));
    }
    for (auto& value : graph->value_info) {
      PLAIT_RETURN_IF_ERROR(Rename(value.name.mutable_value()));
    }
    for (auto& initializer : graph->initializer) {
      PLAIT_RETURN_IF_ERROR(Rename(initializer.name.mutable_value()));
    }
    for (auto& sparse : graph->sparse_initializer) {
      PLAIT_RETURN_IF_ERROR(Rename(sparse.values.mutable_value()->name.mutable_value()));
    }
    for (NodeProto& node : graph->node) PLAIT_RETURN_IF_ERROR(BindNode(&node));
    return absl::OkStatus();
  }

  absl::Status Rename(std::string* name) {
    std::string renamed = call_.Rename(*name);
    PLAIT_RETURN_IF_ERROR(budget_.Take(static_cast<int64_t>(renamed.size())));
    *name = std::move(renamed);
    return absl::OkStatus();
  }

  const Call& call_;
  MemoryBudget& budget_;
};

NodeProto IdentityNode(const std::string& from, const std::string& to) {
  NodeProto node;
  node.op_type = "Identity";
  node.input = {from};
  node.output = {to};
  return node;
}

// Expands calls depth first, each body anew for each call: a body's own calls are expanded after
// its names were bound, so that prefixes nest. A function that is being expanded is `open`; meeting
// it again is recursion. Every node written, every call made and every byte copied counts, so that
// a few functions that call each other twice cannot grow a model without bound.
class Inliner {
 public:
  explicit Inliner(onnx::ModelProto* model)
      : model_(*model), budget_(kInlinedBytesMax + MemoryBytes(*model)) {}

  absl::Status AddFunctions() {
    for (const auto& import : model_.opset_import) {
      imports_.emplace(KeyOf(import.domain(), "").first, import.version());
    }
    for (const FunctionProto& proto : model_.functions) {
      Function function{proto, {}};
      for (const NodeProto& node : proto.node) function.body_bytes += MemoryBytes(node);
      function.body_bytes += NamesBytes(proto.input) + NamesBytes(proto.output);
      for (const AttributeProto& attribute : proto.attribute_proto) {
        function.defaults_bytes += MemoryBytes(attribute);
        function.defaults[attribute.name()] = attribute;
      }
      function.is_overloaded = !proto.overload().empty();
      const FunctionKey key = KeyOf(proto.domain(), proto.name());
      const auto [first, is_first] = functions_.emplace(key, std::move(function));
      if (is_first) continue;
      first->second.is_overloaded |= !proto.overload().empty();
      if (!first->second.is_overloaded) {
        return absl::InvalidArgumentError(
            absl::StrCat("function '", proto.name(), "' is defined twice"));
      }
    }
    return absl::OkStatus();
  }

  // Rewrites a list of nodes, of a graph or of a function's body.
  absl::Status Expand(std::vector<NodeProto>* nodes) {
    for (NodeProto& node : std::exchange(*nodes, {})) {
      PLAIT_RETURN_IF_ERROR(ExpandSubgraphs(&node));
      const auto function = functions_.find(KeyOf(node.domain(), node.op_type()));
      if (function == functions_.end()) {
        PLAIT_RETURN_IF_ERROR(Count());
        nodes->push_back(std::move(node));
        continue;
      }
      PLAIT_RETURN_IF_ERROR(ExpandCall(node, &function->second, nodes));
    }
    return absl::OkStatus();
  }

 private:
  // What a body is expanded to means what the function's opsets say: the model gets those of
  // domains that it does not import itself, as one of nothing but calls does ONNX's. A body of
  // another version would need more than renaming.
  absl::Status Import(Function* function) {
    if (std::exchange(function->is_imported, true)) return absl::OkStatus();
    for (const auto& import : function->proto.opset_import) {
      const auto [own, is_new] =
          imports_.emplace(KeyOf(import.domain(), "").first, import.version());
      if (is_new) model_.opset_import.push_back(import);
      if (own->second == import.version()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("function '", function->proto.name(), "' imports opset ", import.version(),
                       " of '", import.domain(), "', the model opset ", own->second,
                       " (inline functions with onnx.inliner first)"));
    }
    return absl::OkStatus();
  }

  absl::Status Count() {
    if (++nodes_ <= kModelNodesMax) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the model's functions expand to more than ", kModelNodesMax, " nodes"));
  }

  absl::Status ExpandSubgraphs(NodeProto* node) {
    for (AttributeProto& attribute : node->attribute) {
      if (attribute.g.has()) {
        PLAIT_RETURN_IF_ERROR(ExpandSubgraph(*node, attribute.g.mutable_value()));
      }
      for (GraphProto& graph : attribute.graphs) {
        PLAIT_RETURN_IF_ERROR(ExpandSubgraph(*node, &graph));
      }
    }
    return absl::OkStatus();
  }

  // As deep as a file's own subgraphs may be: what is expanded is written, and read again.
  absl::Status ExpandSubgraph(const NodeProto& node, GraphProto* graph) {
    if (++graph_depth_ > kSubgraphDepthMax) {
      return absl::ResourceExhaustedError(absl::StrCat(
          NodeLabel(node), ": the model's functions expand to subgraphs nested deeper ", "than ",
          kSubgraphDepthMax));
    }
    PLAIT_RETURN_IF_ERROR(Expand(&graph->node));
    --graph_depth_;
    return absl::OkStatus();
  }

  absl::StatusOr<Call> MakeCall(const NodeProto& node, const Function& function) {
    const FunctionProto& proto = function.proto;
    if (function.is_overloaded || !node.overload().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(NodeLabel(node), ": function '", proto.name(),
                       "' is overloaded, which plait does not support (inline functions with "
                       "onnx.inliner first)"));
    }
    if (node.input.size() > proto.input.size() || node.output.size() > proto.output.size()) {
      return absl::InvalidArgumentError(absl::StrCat(NodeLabel(node),
                                                     ": has more inputs or outputs than function '",
                                                     proto.name(), "' declares"));
    }
    Call call;
    call.prefix = absl::StrCat(proto.name(), "_", calls_++, "/");
    for (size_t i = 0; i < proto.input.size(); ++i) {
      call.names[proto.input[i]] = i < node.input.size() ? node.input[i] : "";
    }
    for (size_t i = 0; i < node.output.size(); ++i) {
      // A function may return its input; the call then ends in an Identity.
      if (!node.output[i].empty()) call.names.emplace(proto.output[i], node.output[i]);
    }
    call.attributes = function.defaults;
    for (const AttributeProto& attribute : node.attribute) {
      call.attributes[attribute.name()] = attribute;
    }
    return call;
  }

  absl::Status ExpandCall(const NodeProto& node, Function* function, std::vector<NodeProto>* out) {
    if (function->open) {
      return absl::InvalidArgumentError(
          absl::StrCat("function '", function->proto.name(), "' calls itself"));
    }
    // An empty body costs a step as well: calls of calls of it could go on for ever.
    PLAIT_RETURN_IF_ERROR(Count());
    PLAIT_RETURN_IF_ERROR(Import(function));
    // The call's attributes, and the body.
    PLAIT_RETURN_IF_ERROR(budget_.Take(MemoryBytes(node) + function->defaults_bytes));
    PLAIT_RETURN_IF_ERROR(budget_.Take(function->body_bytes));
    PLAIT_ASSIGN_OR_RETURN(const Call call, MakeCall(node, *function));
    // A copy: the next call binds other names.
    std::vector<NodeProto> body = function->proto.node;
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
    for (NodeProto& inner : body) out->push_back(std::move(inner));
    // An output that already had a name, such as an input that is returned, gets a second one.
    for (size_t i = 0; i < node.output.size(); ++i) {
      const std::string source = call.Rename(function->proto.output[i]);
      if (!node.output[i].empty() && source != node.output[i]) {
        out->push_back(IdentityNode(source, node.output[i]));
      }
    }
    return absl::OkStatus();
  }

  onnx::ModelProto& model_;
  MemoryBudget budget_;
  absl::flat_hash_map<std::string, int64_t> imports_;  // version by domain
  absl::flat_hash_map<FunctionKey, Function> functions_;
  int64_t nodes_ = 0;
  int64_t calls_ = 0;
  int depth_ = 0;        // of calls
  int graph_depth_ = 0;  // of subgraphs
};

}  // namespace

absl::Status InlineFunctions(onnx::ModelProto* model) {
  if (model->functions.empty()) return absl::OkStatus();
  Inliner inliner(model);
  PLAIT_RETURN_IF_ERROR(inliner.AddFunctions());
  PLAIT_RETURN_IF_ERROR(inliner.Expand(&model->graph.mutable_value()->node));
  model->functions.clear();
  return absl::OkStatus();
}

}  // namespace plait
