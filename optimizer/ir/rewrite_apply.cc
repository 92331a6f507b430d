#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/forget_names.h"
#include "optimizer/ir/rewrite.h"

namespace plait {

// Fills a builder's arrays directly: the graph's names are unique already, and hashing them again
// would cost more than all the rest.
//
// Tensors are copied first, so that ids of the graph are ids of the builder; then nodes, with their
// inputs replaced. In y = Relu(Relu(x)), nodes 0 and 1, removing 1 and rewiring its output to that
// of 0 leaves node 0, whose output takes over the name y. Several rewrites have their new tensors
// one behind the other. A rule may be wrong: ids, types and what is still read are checked before
// the builder sorts.
class RewriteApplication {
 public:
  RewriteApplication(const Graph& graph, absl::Span<const Rewrite> rewrites) : graph_(graph) {
    for (const Rewrite& rewrite : rewrites) parts_.push_back({rewrite});
  }

  absl::StatusOr<Graph> Run() {
    CopyTensors();
    is_removed_.resize(graph_.node_count());
    for (Part& part : parts_) {
      PLAIT_RETURN_IF_ERROR(CheckRemoved(part));
      AddTensors(part);
    }
    replacement_.resize(tensor_count());
    std::iota(replacement_.begin(), replacement_.end(), 0);
    for (const Part& part : parts_) PLAIT_RETURN_IF_ERROR(CheckRewired(part));
    PLAIT_RETURN_IF_ERROR(AddNodes());
    PLAIT_RETURN_IF_ERROR(AddOutputs());
    TakeOverNames();
    return std::move(builder_).Finish();
  }

  // No rewrite, but for names.
  absl::StatusOr<Graph> Rename(const std::vector<bool>& forgotten) {
    CopyTensors();
    builder_.nodes_.assign(graph_.nodes().begin(), graph_.nodes().end());
    builder_.outputs_.assign(graph_.outputs().begin(), graph_.outputs().end());
    for (TensorId tensor = 0; tensor < tensor_count(); ++tensor) {
      const TensorInfo& info = graph_.tensor(tensor);
      const bool is_input = info.producer == kNoNode && info.constant == nullptr;
      if (!forgotten[tensor] || is_input || graph_.is_output(tensor)) continue;
      builder_.tensors_[tensor].name = nullptr;
    }
    return std::move(builder_).Finish();
  }

 private:
  // One of the rewrites, and where its new tensors lie in the builder.
  struct Part {
    const Rewrite& rewrite;
    TensorId first_tensor = 0;
    TensorId past_tensor = 0;
    std::vector<TensorId> first_outputs = {};  // by added node
  };

  TensorId tensor_count() const { return static_cast<TensorId>(builder_.tensors_.size()); }

  void CopyTensors() {
    builder_.inputs_.assign(graph_.inputs().begin(), graph_.inputs().end());
    builder_.tensors_.assign(graph_.tensors().begin(), graph_.tensors().end());
  }

  // The builder's id of a tensor that the rewrite names; kNoTensor when there is none.
  TensorId IdOf(const Part& part, TensorId id) const {
    if (id < graph_.tensor_count()) return std::max(id, kNoTensor);
    const TensorId shifted = id - graph_.tensor_count() + part.first_tensor;
    return shifted < part.past_tensor ? shifted : kNoTensor;
  }

  std::string NameOf(TensorId id) const {
    const NameRef& name = builder_.tensors_[id].name;
    return name != nullptr ? absl::StrCat("%", *name) : absl::StrCat("new tensor ", id);
  }

  // True for what a removed node produced; rewiring must leave no reader.
  bool IsGone(TensorId id) const {
    if (id >= graph_.tensor_count()) return false;
    const NodeId producer = graph_.tensor(id).producer;
    return producer != kNoNode && is_removed_[producer];
  }

  absl::Status CheckRemoved(const Part& part) {
    for (NodeId node : part.rewrite.removed) {
      if (node < 0 || node >= graph_.node_count()) {
        return absl::InvalidArgumentError(
            absl::StrCat("rewrite: removes node ", node, ", which the graph does not have"));
      }
      is_removed_[node] = true;
    }
    return absl::OkStatus();
  }

  // In the order that Rewrite promises: constants, then the outputs of each new node.
  void AddTensors(Part& part) {
    part.first_tensor = tensor_count();
    for (const ConstantRef& constant : part.rewrite.constants) {
      builder_.AddTensor({.type = constant->type(), .constant = constant, .name = nullptr});
    }
    for (const Rewrite::NewNode& added : part.rewrite.added) {
      part.first_outputs.push_back(tensor_count());
      for (const TensorType& type : added.output_types) {
        builder_.AddTensor({.type = type, .constant = nullptr, .name = nullptr});
      }
    }
    part.past_tensor = tensor_count();
  }

  // One step only: a tensor that is rewired to one that is itself rewired keeps that as its
  // reader's input, and is refused when its producer is gone.
  absl::Status CheckRewired(const Part& part) {
    for (const auto& [from, named_to] : part.rewrite.rewired) {
      const TensorId to = IdOf(part, named_to);
      if (from < 0 || from >= graph_.tensor_count() || to == kNoTensor) {
        return absl::InvalidArgumentError(absl::StrCat("rewrite: rewires tensor ", from, " to ",
                                                       named_to, ", which do not exist"));
      }
      const TensorType& type_from = builder_.tensors_[from].type;
      const TensorType& type_to = builder_.tensors_[to].type;
      if (type_from != type_to) {
        return absl::InvalidArgumentError(
            absl::StrCat("rewrite: ", NameOf(from), " is ", type_from.ToString(),
                         " but its replacement ", NameOf(to), " is ", type_to.ToString()));
      }
      replacement_[from] = to;
    }
    return absl::OkStatus();
  }

  // Where the new nodes stand among the old ones: behind the last removed node, else before the
  // first reader of what is rewired. Only a preference, since the builder sorts.
  NodeId PlaceOf(const Rewrite& rewrite) const {
    if (!rewrite.removed.empty()) {
      return *std::max_element(rewrite.removed.begin(), rewrite.removed.end());
    }
    NodeId place = graph_.node_count();
    for (const auto& [from, to] : rewrite.rewired) {
      if (!graph_.users(from).empty()) place = std::min(place, graph_.users(from)[0]);
    }
    return place;
  }

  absl::Status AddNodes() {
    std::vector<std::pair<NodeId, const Part*>> by_place;
    for (const Part& part : parts_) by_place.emplace_back(PlaceOf(part.rewrite), &part);
    std::stable_sort(by_place.begin(), by_place.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    auto next = by_place.begin();
    for (NodeId id = 0; id <= graph_.node_count(); ++id) {
      for (; next != by_place.end() && next->first == id; ++next) {
        PLAIT_RETURN_IF_ERROR(AddNewNodes(*next->second));
      }
      if (id == graph_.node_count() || is_removed_[id]) continue;
      Node node = graph_.node(id);
      for (TensorId& input : node.inputs) {
        if (input != kNoTensor) input = replacement_[input];
      }
      PLAIT_RETURN_IF_ERROR(AddNode(std::move(node)));
    }
    return absl::OkStatus();
  }

  absl::Status AddNewNodes(const Part& part) {
    for (size_t i = 0; i < part.rewrite.added.size(); ++i) {
      const Rewrite::NewNode& added = part.rewrite.added[i];
      Node node{.op = added.op,
                .attributes = added.attributes,
                .inputs = {},
                .outputs = {},
                .name = nullptr};
      for (const TensorId input : added.inputs) {
        node.inputs.push_back(IdOf(part, input));
        if (input == kNoTensor || node.inputs.back() != kNoTensor) continue;
        return absl::InvalidArgumentError(absl::StrCat("rewrite: a new ", OpKindName(added.op),
                                                       " reads tensor ", input,
                                                       ", which does not exist"));
      }
      for (size_t output = 0; output < added.output_types.size(); ++output) {
        node.outputs.push_back(part.first_outputs[i] + static_cast<TensorId>(output));
      }
      PLAIT_RETURN_IF_ERROR(AddNode(std::move(node)));
    }
    return absl::OkStatus();
  }

  absl::Status AddNode(Node node) {
    for (TensorId input : node.inputs) {
      if (input == kNoTensor || !IsGone(input)) continue;
      return absl::InvalidArgumentError(absl::StrCat("rewrite: removes the producer of ",
                                                     NameOf(input), ", which ", OpKindName(node.op),
                                                     " still reads; rewire it"));
    }
    const NodeId id = static_cast<NodeId>(builder_.nodes_.size());
    for (TensorId output : node.outputs) {
      if (output != kNoTensor) builder_.tensors_[output].producer = id;
    }
    builder_.nodes_.push_back(std::move(node));
    return absl::OkStatus();
  }

  absl::Status AddOutputs() {
    for (TensorId output : graph_.outputs()) {
      const TensorId now = replacement_[output];
      if (IsGone(now)) {
        return absl::InvalidArgumentError(absl::StrCat("rewrite: removes the producer of ",
                                                       NameOf(now), ", a graph output; rewire it"));
      }
      builder_.outputs_.push_back(now);
    }
    return absl::OkStatus();
  }

  // The interface of a model is its names: an output keeps its own, whatever computes it now.
  void TakeOverNames() {
    std::vector<bool> fixed(tensor_count());
    for (TensorId input : graph_.inputs()) fixed[input] = true;
    for (TensorId output : graph_.outputs()) {
      if (replacement_[output] == output) fixed[output] = true;
    }
    for (const Part& part : parts_) {
      for (const auto& [from, named_to] : part.rewrite.rewired) {
        const TensorId to = IdOf(part, named_to);
        if (fixed[to] || replacement_[from] != to) continue;
        NameRef& name_from = builder_.tensors_[from].name;
        NameRef& name_to = builder_.tensors_[to].name;
        const bool names_output = graph_.is_output(from);
        if (!names_output && (name_to != nullptr || !IsGone(from))) continue;
        // A graph input that is also an output keeps its name; a second rewiring finds none any
        // more.
        if (fixed[from] || name_from == nullptr) continue;
        name_to = std::move(name_from);
        name_from = nullptr;
        // The first output that moved here has named the tensor; later ones must not rename it.
        if (names_output) fixed[to] = true;
      }
    }
  }

  const Graph& graph_;
  std::vector<Part> parts_;
  GraphBuilder builder_;
  std::vector<bool> is_removed_;
  std::vector<TensorId> replacement_;  // by tensor; itself when it is not rewired
};

absl::StatusOr<Graph> Apply(const Graph& graph, const Rewrite& rewrite) {
  return RewriteApplication(graph, absl::MakeConstSpan(&rewrite, 1)).Run();
}

absl::StatusOr<Graph> Apply(const Graph& graph, absl::Span<const Rewrite> rewrites) {
  return RewriteApplication(graph, rewrites).Run();
}

Graph ForgetNames(const Graph& graph, const std::vector<bool>& forgotten) {
  absl::StatusOr<Graph> renamed = RewriteApplication(graph, {}).Rename(forgotten);
  PLAIT_CHECK(renamed.ok());  // the graph had no cycle
  return *std::move(renamed);
}

Rewrite Rewrite::Replace(const Graph& graph, NodeId node, TensorId replacement) {
  Rewrite rewrite;
  rewrite.removed = {node};
  rewrite.rewired = {{graph.node(node).outputs[0], replacement}};
  return rewrite;
}

}  // namespace plait
