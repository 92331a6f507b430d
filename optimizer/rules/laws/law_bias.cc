#include "optimizer/rules/laws/law_bias.h"

#include <algorithm>

namespace plait {
namespace {

constexpr int64_t kChannelAxis = 1;

bool IsAlongChannels(const Node& node) { return node.attributes->Int("axis", 0) == kChannelAxis; }

TensorId Zeros(int64_t channels, RewriteBuilder* builder) {
  return builder->Repeat(builder->AddConstant(Tensor::Of<float>({1}, {0.0f})), channels);
}

// The biases one behind the other; none where all are none.
TensorId JoinedBiases(absl::Span<const TensorId> biases, absl::Span<const int64_t> channels,
                      RewriteBuilder* builder) {
  if (std::all_of(biases.begin(), biases.end(), [](TensorId bias) { return bias == kNoTensor; })) {
    return kNoTensor;
  }
  std::vector<TensorId> parts;
  for (size_t i = 0; i < biases.size(); ++i) {
    parts.push_back(biases[i] == kNoTensor ? Zeros(channels[i], builder) : biases[i]);
  }
  return builder->Fold(OpKind::kConcat, parts, {{"axis", int64_t{0}}});
}

TensorId Sum(TensorId a, TensorId b, RewriteBuilder* builder) {
  if (a == kNoTensor) return b;
  return b == kNoTensor ? a : builder->Fold(OpKind::kAdd, {a, b});
}

// Follows biases through the source, node by node.
class BiasFlow {
 public:
  BiasFlow(const Graph& source, const Graph& graph, const LawBinding& binding,
           RewriteBuilder* builder)
      : source_(source),
        graph_(graph),
        binding_(binding),
        builder_(*builder),
        biases_(source.tensor_count(), kNoTensor) {}

  bool Follow(NodeId id) {
    const Node& node = source_.node(id);
    const bool has_bias = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](TensorId input) { return biases_[input] != kNoTensor; });
    switch (node.op) {
      case OpKind::kConv:
        return !has_bias && ReadConv(id);
      case OpKind::kAdd:
        biases_[node.outputs[0]] = Sum(biases_[node.inputs[0]], biases_[node.inputs[1]], &builder_);
        return true;
      case OpKind::kConcat:
        return !has_bias || Concat(node);
      case OpKind::kSplit:
        return !has_bias || Split(node);
      default:
        return !has_bias;
    }
  }

  TensorId BiasOf(TensorId tensor) const { return biases_[tensor]; }

 private:
  int64_t ChannelsOf(TensorId tensor) const { return binding_.shapes[tensor][kChannelAxis]; }

  bool ReadConv(NodeId id) {
    const Node& conv = graph_.node(binding_.nodes[id]);
    if (conv.inputs.size() < 3 || conv.inputs[2] == kNoTensor) return true;
    if (graph_.tensor(conv.inputs[2]).constant == nullptr) return false;
    biases_[source_.node(id).outputs[0]] = conv.inputs[2];
    return true;
  }

  bool Concat(const Node& node) {
    std::vector<TensorId> biases;
    std::vector<int64_t> channels;
    for (const TensorId input : node.inputs) {
      biases.push_back(biases_[input]);
      channels.push_back(ChannelsOf(input));
    }
    TensorId& result = biases_[node.outputs[0]];
    if (IsAlongChannels(node)) {
      result = JoinedBiases(biases, channels, &builder_);
      return true;
    }
    result = biases[0];
    return std::all_of(biases.begin(), biases.end(),
                       [&](TensorId bias) { return bias == biases[0]; });
  }

  bool Split(const Node& node) {
    int64_t start = 0;
    for (const TensorId output : node.outputs) {
      if (!IsAlongChannels(node)) {
        biases_[output] = biases_[node.inputs[0]];
        continue;
      }
      const int64_t end = start + ChannelsOf(output);
      const auto ints = [&](int64_t value) {
        return builder_.AddConstant(Tensor::Int64s({value}));
      };
      biases_[output] =
          builder_.Fold(OpKind::kSlice, {biases_[node.inputs[0]], ints(start), ints(end), ints(0)});
      start = end;
    }
    return true;
  }

  const Graph& source_;
  const Graph& graph_;
  const LawBinding& binding_;
  RewriteBuilder& builder_;
  std::vector<TensorId> biases_;  // by tensor of the source
};

class BiasPlaces {
 public:
  BiasPlaces(const Graph& target, RewriteBuilder* builder) : target_(target), builder_(*builder) {
    places_.of_nodes.assign(target.node_count(), kNoTensor);
  }

  // Whether some convolution adds `bias` to the tensor, which `readers` read: nodes, or an output.
  bool Give(TensorId tensor, TensorId bias, size_t readers) {
    const NodeId producer = target_.tensor(tensor).producer;
    if (producer == kNoNode) return false;
    if (target_.users(tensor).size() + (target_.is_output(tensor) ? 1 : 0) > readers) return false;
    const Node& node = target_.node(producer);
    if (node.op == OpKind::kAdd && node.inputs[0] != node.inputs[1]) {
      return Give(node.inputs[0], bias, 1) || Give(node.inputs[1], bias, 1);
    }
    if (node.op != OpKind::kConv) return false;
    TensorId& place = places_.of_nodes[producer];
    place = Sum(place, bias, &builder_);
    return true;
  }

  // The Split along the channels all of whose parts are outputs and nothing else; else kNoNode.
  NodeId SplitOfOutputs() const {
    const NodeId split = target_.tensor(target_.outputs()[0]).producer;
    if (split == kNoNode || target_.node(split).op != OpKind::kSplit) return kNoNode;
    const Node& node = target_.node(split);
    if (!IsAlongChannels(node) || node.outputs.size() != target_.outputs().size()) return kNoNode;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != target_.outputs()[i] || !target_.users(node.outputs[i]).empty()) {
        return kNoNode;
      }
    }
    return split;
  }

  PlacedBiases places_;

 private:
  const Graph& target_;
  RewriteBuilder& builder_;
};

}  // namespace

std::optional<std::vector<TensorId>> BiasesOfOutputs(const LawPattern& pattern, const Graph& graph,
                                                     const LawBinding& binding,
                                                     RewriteBuilder* builder) {
  const Graph& source = pattern.law.source;
  BiasFlow flow(source, graph, binding, builder);
  for (NodeId node = 0; node < source.node_count(); ++node) {
    if (!flow.Follow(node)) return std::nullopt;
  }
  std::vector<TensorId> biases;
  for (const TensorId output : source.outputs()) biases.push_back(flow.BiasOf(output));
  return biases;
}

PlacedBiases PlaceBiases(const Graph& target, absl::Span<const TensorId> biases,
                         absl::Span<const int64_t> channels, RewriteBuilder* builder) {
  BiasPlaces places(target, builder);
  places.places_.of_outputs.assign(biases.size(), kNoTensor);
  const NodeId split = places.SplitOfOutputs();
  if (split != kNoNode) {
    const TensorId joined = JoinedBiases(biases, channels, builder);
    if (joined == kNoTensor || places.Give(target.node(split).inputs[0], joined, 1)) {
      return std::move(places.places_);
    }
  }
  for (size_t i = 0; i < biases.size(); ++i) {
    if (biases[i] == kNoTensor || places.Give(target.outputs()[i], biases[i], 1)) continue;
    places.places_.of_outputs[i] = biases[i];
  }
  return std::move(places.places_);
}

}  // namespace plait
