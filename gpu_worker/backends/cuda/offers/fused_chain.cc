#include "gpu_worker/backends/cuda/offers/fused_chain.h"

#include <algorithm>

// Conv, Add of a residual, Relu has the chains {}, {Add} and {Add, Relu}, of which the first and
// the last are offered. Conv, Relu, Add has {} and {Relu}: nothing follows an activation.

namespace plait::cuda {
namespace {

// Takes one more operation in; false where a problem cannot say it.
bool Extend(const PostOperation& operation, bool has_bias, FusedChain* chain) {
  if (chain->activation != Activation::kNone) return false;
  switch (operation.kind) {
    case PostOperation::Kind::kActivation: {
      const std::optional<Activation> activation = ActivationOf(operation);
      if (!activation.has_value()) return false;
      chain->activation = *activation;
      break;
    }
    case PostOperation::Kind::kAddChannel:
      if (has_bias || chain->bias != kNoTensor) return false;
      chain->bias = operation.operand;
      break;
    case PostOperation::Kind::kAddTensor:
      if (chain->residual != kNoTensor) return false;
      chain->residual = operation.operand;
      break;
    default:
      return false;
  }
  chain->nodes.insert(chain->nodes.end(), operation.nodes.begin(), operation.nodes.end());
  std::sort(chain->nodes.begin(), chain->nodes.end());
  chain->result = operation.result;
  return true;
}

// Each longer than the one before.
std::vector<FusedChain> AllChains(const Graph& graph, NodeId root, bool has_bias) {
  std::vector<FusedChain> chains = {{.result = graph.node(root).outputs[0]}};
  const int channel_axis = ChannelAxisOf(graph, root);
  while (const auto next = NextPostOperation(graph, chains.back().result, channel_axis)) {
    FusedChain longer = chains.back();
    if (!Extend(*next, has_bias, &longer)) break;
    chains.push_back(std::move(longer));
  }
  return chains;
}

}  // namespace

std::vector<FusedChain> FusedChains(const Graph& graph, NodeId root, bool has_bias) {
  std::vector<FusedChain> chains = AllChains(graph, root, has_bias);
  std::vector<FusedChain> ends;
  for (size_t i = 0; i < chains.size(); ++i) {
    const bool is_last = i + 1 == chains.size();
    const bool is_before_residual = !is_last && chains[i].residual != chains[i + 1].residual;
    if (i == 0 || is_last || is_before_residual) ends.push_back(std::move(chains[i]));
  }
  return ends;
}

std::optional<FusedChain> ChainOf(const Graph& graph, NodeId root, bool has_bias,
                                  absl::Span<const NodeId> nodes) {
  for (FusedChain& chain : AllChains(graph, root, has_bias)) {
    if (absl::MakeConstSpan(chain.nodes) == nodes) return std::move(chain);
  }
  return std::nullopt;
}

std::vector<std::vector<NodeId>> GrowChains(const Graph& graph, const std::vector<NodeId>& front,
                                            NodeId root, bool has_bias) {
  std::vector<std::vector<NodeId>> groups;
  for (const FusedChain& chain : FusedChains(graph, root, has_bias)) {
    std::vector<NodeId>& group = groups.emplace_back(front);
    group.push_back(root);
    group.insert(group.end(), chain.nodes.begin(), chain.nodes.end());
  }
  return groups;
}

bool HasBias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != kNoTensor; }

std::optional<Activation> ActivationOf(const PostOperation& operation) {
  if (operation.kind != PostOperation::Kind::kActivation) return std::nullopt;
  switch (operation.op) {
    case OpKind::kRelu:
      return Activation::kRelu;
    case OpKind::kClip:
      if (operation.alpha != 0 || operation.beta != 6) return std::nullopt;
      return Activation::kRelu6;
    case OpKind::kGelu:
      return operation.alpha == 1 ? Activation::kGeluTanh : Activation::kGelu;
    case OpKind::kSwish:
      if (operation.alpha != 1) return std::nullopt;
      return Activation::kSilu;
    case OpKind::kSigmoid:
      return Activation::kSigmoid;
    case OpKind::kTanh:
      return Activation::kTanh;
    default:
      return std::nullopt;
  }
}

}  // namespace plait::cuda
