#include "gpu_worker/backends/groups/attention_pattern.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "gpu_worker/backends/groups/attention_reader.h"
#include "gpu_worker/backends/groups/node_checks.h"

// A layer of ViT is, between the product that makes queries, keys and values together and the one
// that follows, some twenty nodes:
//   %r = Reshape(%qkv), %u = Unsqueeze(%r), %t = Transpose(%u), %s = Squeeze(%t)
//   %q0, %k0, %v0 = Gather(%s) each, and of each Reshape, Transpose, Reshape and perhaps Mul
//   %scores = MatMul(%q, %k), %weights = Softmax(%scores), %mixed = MatMul(%weights, %v)
//   %y = Reshape(Transpose(%mixed))
// From the Softmax backwards all that a strided read can do instead is taken, as long as nobody
// else reads it; what a strided read cannot do, and what others read, stays outside with all that
// it is made of. The result's side is taken forwards.

namespace plait {
namespace {

// Nodes on the way from the first of a group to its Softmax.
constexpr size_t kLookAhead = 32;

bool IsCore(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  return op == OpKind::kSoftmax || op == OpKind::kAttention;
}

bool MayStandBefore(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  return MovesByStrides(graph, node) || op == OpKind::kMul || op == OpKind::kDiv ||
         op == OpKind::kAdd || op == OpKind::kMatMul;
}

// The Softmax, or Attention, that the node may belong to; kNoNode: there is none near.
NodeId CoreAhead(const Graph& graph, NodeId node) {
  std::vector<NodeId> pending = {node};
  absl::flat_hash_set<NodeId> seen = {node};
  for (size_t i = 0; i < pending.size() && i < kLookAhead; ++i) {
    if (IsCore(graph, pending[i])) return pending[i];
    if (!MayStandBefore(graph, pending[i])) continue;
    for (const TensorId output : graph.node(pending[i]).outputs) {
      if (output == kNoTensor) continue;
      for (const NodeId user : graph.users(output)) {
        if (seen.insert(user).second) pending.push_back(user);
      }
    }
  }
  return kNoNode;
}

NodeId SoleUser(const Graph& graph, TensorId tensor) {
  return graph.has_single_use(tensor) && !graph.is_output(tensor) ? graph.users(tensor)[0]
                                                                  : kNoNode;
}

// A group that is being found: its middle, and what stands before and behind it.
class Grower {
 public:
  Grower(const Graph& graph, NodeId core) : graph_(graph), core_(core) {}

  std::vector<NodeId> Run() {
    if (!AddMiddle()) return {};
    for (const TensorId input : inputs_) AddBefore(input, input != inputs_.back());
    AddBehind();
    while (DropWhatOthersRead() || DropWhatMoves()) {
    }
    std::vector<NodeId> nodes(middle_.begin(), middle_.end());
    nodes.insert(nodes.end(), before_.begin(), before_.end());
    nodes.insert(nodes.end(), behind_.begin(), behind_.end());
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

 private:
  // The nodes that compute: one Attention, or two products and what is between them.
  bool AddMiddle() {
    const Node& core = graph_.node(core_);
    middle_ = {core_};
    if (core.op == OpKind::kAttention) {
      inputs_ = {core.inputs[0], core.inputs[1], core.inputs[2]};
      result_ = core.outputs[0];
      return true;
    }
    TensorId scores = core.inputs[0];
    for (int step = 0; step < kStepsToScores; ++step) {
      const NodeId node = graph_.tensor(scores).producer;
      if (node == kNoNode || SoleUser(graph_, scores) == kNoNode) return false;
      middle_.push_back(node);
      if (graph_.node(node).op == OpKind::kMatMul) {
        const NodeId mix = SoleUser(graph_, core.outputs[0]);
        if (mix == kNoNode || graph_.node(mix).op != OpKind::kMatMul) return false;
        middle_.push_back(mix);
        inputs_ = {graph_.node(node).inputs[0], graph_.node(node).inputs[1],
                   graph_.node(mix).inputs[1]};
        result_ = graph_.node(mix).outputs[0];
        return true;
      }
      const std::optional<size_t> side = SideOfScores(graph_, node);
      if (!side.has_value()) return false;
      scores = graph_.node(node).inputs[*side];
    }
    return false;
  }

  void AddBefore(TensorId tensor, bool may_scale) {
    const NodeId producer = graph_.tensor(tensor).producer;
    if (producer == kNoNode) return;
    const std::optional<Factor> factor =
        may_scale ? FactorOf(graph_, producer) : std::optional<Factor>();
    if (!factor.has_value() && !MovesByStrides(graph_, producer)) return;
    if (!before_.insert(producer).second) return;
    AddBefore(factor.has_value() ? factor->tensor : graph_.node(producer).inputs[0], may_scale);
  }

  void AddBehind() {
    for (NodeId next = SoleUser(graph_, result_); next != kNoNode;
         next = SoleUser(graph_, graph_.node(next).outputs[0])) {
      if (!ReshapesOrTransposes(graph_, next)) return;
      behind_.push_back(next);
    }
  }

  bool IsInside(NodeId node) const {
    return before_.contains(node) || std::count(middle_.begin(), middle_.end(), node) > 0;
  }

  bool DropWhatOthersRead() {
    std::vector<NodeId> dropped;
    for (const NodeId node : before_) {
      for (const TensorId output : graph_.node(node).outputs) {
        if (output == kNoTensor) continue;
        const absl::Span<const NodeId> users = graph_.users(output);
        const bool is_inner =
            !graph_.is_output(output) &&
            std::all_of(users.begin(), users.end(), [&](NodeId user) { return IsInside(user); });
        if (!is_inner) dropped.push_back(node);
      }
    }
    for (const NodeId node : dropped) before_.erase(node);
    return !dropped.empty();
  }

  // What a strided read or write cannot do.
  bool DropWhatMoves() {
    for (const TensorId input : inputs_) {
      NodeId blocked = kNoNode;
      const auto is_inside = [&](NodeId node) { return before_.contains(node); };
      if (ReadBackwards(graph_, input, is_inside, &blocked).has_value()) continue;
      before_.erase(blocked);
      return true;
    }
    if (behind_.empty() || WrittenBehind(graph_, result_, behind_).has_value()) return false;
    behind_.pop_back();
    return true;
  }

  const Graph& graph_;
  const NodeId core_;
  std::vector<NodeId> middle_;
  std::vector<TensorId> inputs_;  // query, key, value, as the middle reads them
  TensorId result_ = kNoTensor;   // as the middle writes it
  absl::flat_hash_set<NodeId> before_;
  std::vector<NodeId> behind_;  // in order
};

}  // namespace

std::optional<AttentionPattern> ParseAttention(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (!std::is_sorted(nodes.begin(), nodes.end())) return std::nullopt;
  return AttentionReader(graph, nodes).Run();
}

std::vector<NodeId> GrowAttention(const Graph& graph, NodeId node) {
  if (!IsCore(graph, node) && !MayStandBefore(graph, node)) return {};
  const NodeId core = CoreAhead(graph, node);
  if (core == kNoNode) return {};
  std::vector<NodeId> nodes = Grower(graph, core).Run();
  if (nodes.empty() || nodes.front() != node || !ParseAttention(graph, nodes).has_value()) {
    return {};
  }
  return nodes;
}

}  // namespace plait
