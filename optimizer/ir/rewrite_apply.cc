#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/rewrite.h"

namespace plait {

// Fills a builder's arrays directly: the graph's names are unique already, and hashing them again
// would cost more than all the rest.
//
// Tensors are copied first, so that ids of the rewrite are ids of the builder; then nodes, with
// their inputs replaced. In y = Relu(Relu(x)), nodes 0 and 1, removing 1 and rewiring its output to
// that of 0 leaves node 0, whose output takes over the name y. A rule may be wrong: ids, types and
// what is still read are checked before the builder sorts.
class RewriteApplication {
 public:
  RewriteApplication(const Graph& graph, const Rewrite& rewrite)
      : graph_(graph), rewrite_(rewrite) {}

  absl::StatusOr<Graph> Run() {
    PLAIT_RETURN_IF_ERROR(CheckRemoved());
    PLAIT_RETURN_IF_ERROR(AddTensors());
    PLAIT_RETURN_IF_ERROR(CheckRewired());
    PLAIT_RETURN_IF_ERROR(AddNodes());
    PLAIT_RETURN_IF_ERROR(AddOutputs());
    TakeOverNames();
    return std::move(builder_).Finish();
  }

 private:
  TensorId tensor_count() const { return static_cast<TensorId>(builder_.tensors_.size()); }
  bool exists(TensorId id) const { return id >= 0 && id < tensor_count(); }

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

  absl::Status CheckRemoved() {
    is_removed_.resize(graph_.node_count());
    for (NodeId node : rewrite_.removed) {
      if (node < 0 || node >= graph_.node_count()) {
        return absl::InvalidArgumentError(
            absl::StrCat("rewrite: removes node ", node, ", which the graph does not have"));
      }
      is_removed_[node] = true;
    }
    return absl::OkStatus();
  }

  // In the order that Rewrite promises: constants, then the outputs of each new node.
  absl::Status AddTensors() {
    builder_.inputs_.assign(graph_.inputs().begin(), graph_.inputs().end());
    builder_.tensors_.assign(graph_.tensors().begin(), graph_.tensors().end());
    for (const ConstantRef& constant : rewrite_.constants) {
      builder_.AddTensor({.type = constant->type(), .constant = constant, .name = nullptr});
    }
    for (const Rewrite::NewNode& added : rewrite_.added) {
      first_outputs_.push_back(tensor_count());
      for (const TensorType& type : added.output_types) {
        builder_.AddTensor({.type = type, .constant = nullptr, .name = nullptr});
      }
    }
    return absl::OkStatus();
  }

  // One step only: a tensor that is rewired to one that is itself rewired keeps that as its
  // reader's input, and is refused when its producer is gone.
  absl::Status CheckRewired() {
    replacement_.resize(tensor_count());
    std::iota(replacement_.begin(), replacement_.end(), 0);
    for (const auto& [from, to] : rewrite_.rewired) {
      if (from < 0 || from >= graph_.tensor_count() || !exists(to)) {
        return absl::InvalidArgumentError(
            absl::StrCat("rewrite: rewires tensor ", from, " to ", to, ", which do not exist"));
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
  NodeId Position() const {
    if (!rewrite_.removed.empty()) {
      return *std::max_element(rewrite_.removed.begin(), rewrite_.removed.end());
    }
    NodeId position = graph_.node_count();
    for (const auto& [from, to] : rewrite_.rewired) {
      if (!graph_.users(from).empty()) position = std::min(position, graph_.users(from)[0]);
    }
    return position;
  }

  absl::Status AddNodes() {
    const NodeId position = Position();
    for (NodeId id = 0; id < graph_.node_count(); ++id) {
      if (id == position) PLAIT_RETURN_IF_ERROR(AddNewNodes());
      if (is_removed_[id]) continue;
      Node node = graph_.node(id);
      for (TensorId& input : node.inputs) {
        if (input != kNoTensor) input = replacement_[input];
      }
      PLAIT_RETURN_IF_ERROR(AddNode(std::move(node)));
    }
    return position == graph_.node_count() ? AddNewNodes() : absl::OkStatus();
  }

  absl::Status AddNewNodes() {
    for (size_t i = 0; i < rewrite_.added.size(); ++i) {
      const Rewrite::NewNode& added = rewrite_.added[i];
      Node node{.op = added.op,
                .attributes = added.attributes,
                .inputs = added.inputs,
                .outputs = {},
                .name = nullptr};
      for (size_t output = 0; output < added.output_types.size(); ++output) {
        node.outputs.push_back(first_outputs_[i] + static_cast<TensorId>(output));
      }
      PLAIT_RETURN_IF_ERROR(AddNode(std::move(node)));
    }
    return absl::OkStatus();
  }

  absl::Status AddNode(Node node) {
    for (TensorId input : node.inputs) {
      if (input == kNoTensor) continue;
      if (!exists(input)) {
        return absl::InvalidArgumentError(absl::StrCat("rewrite: a new ", OpKindName(node.op),
                                                       " reads tensor ", input,
                                                       ", which does not exist"));
      }
      if (IsGone(input)) {
        return absl::InvalidArgumentError(
            absl::StrCat("rewrite: removes the producer of ", NameOf(input), ", which ",
                         OpKindName(node.op), " still reads; rewire it"));
      }
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
    for (const auto& [from, to] : rewrite_.rewired) {
      if (fixed[to] || replacement_[from] != to) continue;
      NameRef& name_from = builder_.tensors_[from].name;
      NameRef& name_to = builder_.tensors_[to].name;
      const bool names_output = graph_.is_output(from);
      if (!names_output && (name_to != nullptr || !IsGone(from))) continue;
      // A graph input that is also an output keeps its name; a second rewiring finds none any more.
      if (fixed[from] || name_from == nullptr) continue;
      name_to = std::move(name_from);
      name_from = nullptr;
      // The first output that moved here has named the tensor; later ones must not rename it.
      if (names_output) fixed[to] = true;
    }
  }

  const Graph& graph_;
  const Rewrite& rewrite_;
  GraphBuilder builder_;
  std::vector<bool> is_removed_;
  std::vector<TensorId> first_outputs_;  // by added node
  std::vector<TensorId> replacement_;    // by tensor; itself when it is not rewired
};

absl::StatusOr<Graph> Apply(const Graph& graph, const Rewrite& rewrite) {
  return RewriteApplication(graph, rewrite).Run();
}

Rewrite Rewrite::Replace(const Graph& graph, NodeId node, TensorId replacement) {
  Rewrite rewrite;
  rewrite.removed = {node};
  rewrite.rewired = {{graph.node(node).outputs[0], replacement}};
  return rewrite;
}

}  // namespace plait
