#include "optimizer/rules/laws/write_law.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/laws/law_bias.h"

namespace plait {
namespace {

using Ints = std::vector<int64_t>;

// 2^28 multiplications take a load about a second.
constexpr int64_t kFoldedFlopsMax = int64_t{1} << 29;

// Whether nothing but the source's own nodes reads what the rewrite takes away.
bool IsReadInsideOnly(const LawPattern& pattern, const Graph& graph, const LawBinding& binding) {
  const Graph& source = pattern.law.source;
  for (TensorId tensor = 0; tensor < source.tensor_count(); ++tensor) {
    if (source.tensor(tensor).producer == kNoNode || source.is_output(tensor)) continue;
    const TensorId here = binding.tensors[tensor];
    if (graph.is_output(here)) return false;
    for (const NodeId user : graph.users(here)) {
      if (!absl::c_linear_search(binding.nodes, user)) return false;
    }
  }
  return true;
}

// Nodes of the source may be one node here, as the products of a sum p + p; outputs may not.
bool OutputsDiffer(const LawPattern& pattern, const LawBinding& binding) {
  absl::flat_hash_set<TensorId> outputs;
  for (const TensorId output : pattern.law.source.outputs()) {
    if (!outputs.insert(binding.tensors[output]).second) return false;
  }
  return true;
}

// Whether some input is made from an output: then the target would wait for itself.
bool InputsDependOnOutputs(const LawPattern& pattern, const Graph& graph,
                           const LawBinding& binding) {
  const Graph& source = pattern.law.source;
  absl::flat_hash_set<NodeId> makers;
  NodeId first = graph.node_count();
  for (const TensorId output : source.outputs()) {
    makers.insert(graph.tensor(binding.tensors[output]).producer);
    first = std::min(first, graph.tensor(binding.tensors[output]).producer);
  }
  std::vector<NodeId> pending;
  absl::flat_hash_set<NodeId> seen;
  const auto look_at = [&](TensorId tensor) {
    const NodeId producer = tensor == kNoTensor ? kNoNode : graph.tensor(tensor).producer;
    // Nodes stand in topological order: what stands before all outputs depends on none.
    if (producer >= first && seen.insert(producer).second) pending.push_back(producer);
  };
  for (const TensorId input : source.inputs()) look_at(binding.tensors[input]);
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (makers.contains(node)) return true;
    for (const TensorId input : graph.node(node).inputs) look_at(input);
  }
  return false;
}

// Of places that differ by an exchange of inputs, all with the same nodes, the first one counts.
bool IsFirstOfItsKind(const LawPattern& pattern, const LawBinding& binding) {
  const auto inputs = pattern.law.source.inputs();
  Ints here;
  for (const TensorId input : inputs) here.push_back(binding.tensors[input]);
  for (const std::vector<int>& order : pattern.symmetries) {
    Ints exchanged;
    for (const int place : order) exchanged.push_back(here[place]);
    if (exchanged < here) return false;
  }
  return true;
}

class LawWriter {
 public:
  LawWriter(const LawPattern& pattern, const Graph& graph, const LawBinding& binding)
      : source_(pattern.law.source),
        target_(pattern.law.target),
        pattern_(pattern),
        graph_(graph),
        binding_(binding),
        builder_(graph),
        tensors_(target_.tensor_count(), kNoTensor),
        shapes_(target_.tensor_count()),
        is_constant_(target_.tensor_count(), false) {}

  Rewrites Run() {
    const auto biases = BiasesOfOutputs(pattern_, graph_, binding_, &builder_);
    if (!biases) return {};
    std::vector<int64_t> channels;
    for (const TensorId output : source_.outputs()) {
      const Shape& shape = binding_.shapes[output];
      channels.push_back(shape.size() > 1 ? shape[1] : 0);
    }
    placed_ = PlaceBiases(target_, *biases, channels, &builder_);
    for (size_t i = 0; i < source_.inputs().size(); ++i) {
      const TensorId input = source_.inputs()[i];
      const TensorId here = binding_.tensors[input];
      if (here == kNoTensor) continue;  // what neither side reads
      Set(target_.inputs()[i], here, binding_.shapes[input],
          graph_.tensor(here).constant != nullptr);
    }
    for (NodeId node = 0; node < target_.node_count(); ++node) {
      if (!WriteNode(node)) return {};
    }
    for (size_t i = 0; i < source_.outputs().size(); ++i) {
      TensorId result = tensors_[target_.outputs()[i]];
      if (placed_.of_outputs[i] != kNoTensor) {
        const TensorId bias = builder_.Reshape(placed_.of_outputs[i], {1, channels[i], 1, 1});
        if (bias == kNoTensor) return {};
        result = builder_.Add(OpKind::kAdd, {}, {result, bias});
      }
      builder_.Rewire(binding_.tensors[source_.outputs()[i]], result);
    }
    return builder_.Finish();
  }

 private:
  void Set(TensorId tensor, TensorId here, const Shape& shape, bool is_constant) {
    tensors_[tensor] = here;
    shapes_[tensor] = shape;
    is_constant_[tensor] = is_constant;
  }

  // Types as if all that is broadcast were written out, which must be as they are but where sums
  // and products of elements read them.
  bool WriteNode(NodeId id) {
    const Node& node = target_.node(id);
    const bool broadcasts = HasTraits(node.op, kElementwiseBinary) || node.op == OpKind::kRelu;
    std::vector<TensorId> inputs;
    std::vector<TensorType> types;
    bool is_constant = true;
    for (const TensorId input : node.inputs) {
      if (target_.tensor(input).constant != nullptr) continue;
      inputs.push_back(tensors_[input]);
      types.push_back({binding_.dtype, shapes_[input]});
      is_constant = is_constant && is_constant_[input];
      if (!broadcasts && builder_.type(tensors_[input]) != types.back()) return false;
    }
    const int rank = static_cast<int>(types[0].shape.size());
    const Attributes attributes = AttributesAt(id, rank);
    std::vector<const Tensor*> constants(types.size(), nullptr);
    Tensor further;
    if (!AddConstantInput(id, &further, &inputs)) return false;
    if (inputs.size() > types.size()) {
      types.push_back(further.type());
      constants.push_back(&further);
    }
    const OpKind op = node.op == OpKind::kRelu ? binding_.function : node.op;
    if (node.op == OpKind::kRelu) {
      inputs.insert(inputs.end(), binding_.function_inputs.begin(), binding_.function_inputs.end());
    }
    std::vector<TensorType> made;
    if (node.op == OpKind::kRelu) {
      made = {types[0]};
    } else {
      auto inferred =
          InferTypes(op, attributes, types, constants, static_cast<int>(node.outputs.size()));
      if (!inferred.ok()) return false;
      made = *std::move(inferred);
    }
    if (placed_.of_nodes[id] != kNoTensor) inputs.push_back(placed_.of_nodes[id]);
    return Make(node, op, attributes, inputs, made, is_constant);
  }

  bool Make(const Node& node, OpKind op, const Attributes& attributes,
            absl::Span<const TensorId> inputs, absl::Span<const TensorType> made,
            bool is_constant) {
    // The normal form folds a Split of constants.
    const bool folds = is_constant && node.outputs.size() == 1;
    if (folds && FlopsOf(op, inputs, made[0]) > kFoldedFlopsMax) return false;
    std::vector<TensorId> outputs;
    if (folds) {
      outputs.push_back(builder_.Fold(op, inputs, attributes));
    } else {
      outputs = builder_.AddMany(op, attributes, inputs, static_cast<int>(node.outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoTensor) return false;
      Set(node.outputs[i], outputs[i], made[i].shape, folds);
    }
    return true;
  }

  int64_t FlopsOf(OpKind op, absl::Span<const TensorId> inputs, const TensorType& made) const {
    const Shape& last = builder_.type(inputs[inputs.size() > 1 ? 1 : 0]).shape;
    int64_t depth = 1;
    if (op == OpKind::kMatMul) depth = last[last.size() - 2];
    if (op == OpKind::kConv) depth = ElementsOf(Shape(last.begin() + 1, last.end()));
    return SaturatingMultiply(2 * depth, made.elements());
  }

  Attributes AttributesAt(NodeId id, int rank) const {
    const Node& node = target_.node(id);
    Attributes attributes = *node.attributes;
    const int law_rank = target_.input_type(id, 0).rank();
    switch (node.op) {
      case OpKind::kConcat:
      case OpKind::kSplit:
        attributes.Set("axis", attributes.Int("axis", 0) - law_rank + rank);
        return attributes;
      case OpKind::kTranspose: {
        Ints perm;
        for (int i = 0; i < rank; ++i) perm.push_back(i);
        std::swap(perm[rank - 2], perm[rank - 1]);
        return {{"perm", perm}};
      }
      case OpKind::kConv:
        return pattern_.law.any_window ? binding_.conv_windows.front().attributes : attributes;
      case OpKind::kAveragePool:
        return pattern_.law.any_window ? binding_.pool_windows.front().attributes : attributes;
      case OpKind::kRelu:
        return *binding_.function_attributes;
      default:
        return attributes;
    }
  }

  // The sizes of a Split, the pads of a Pad.
  bool AddConstantInput(NodeId id, Tensor* value, std::vector<TensorId>* inputs) {
    const Node& node = target_.node(id);
    if (node.inputs.size() < 2 || target_.tensor(node.inputs[1]).constant == nullptr) return true;
    *value = *target_.tensor(node.inputs[1]).constant->inline_value();
    if (node.op == OpKind::kSplit) {
      Ints sizes = value->AsInt64s();
      for (int64_t& size : sizes) {
        if (IsVariableSize(size)) size = binding_.SizeOf(size);
        if (size < 0) return false;
      }
      *value = Tensor::Int64s(sizes);
    }
    inputs->push_back(builder_.AddConstant(*value));
    return true;
  }

  const Graph& source_;
  const Graph& target_;
  const LawPattern& pattern_;
  const Graph& graph_;
  const LawBinding& binding_;
  RewriteBuilder builder_;
  PlacedBiases placed_;
  std::vector<TensorId> tensors_;  // by tensor of the target: the builder's
  std::vector<Shape> shapes_;      // with what is broadcast written out
  std::vector<bool> is_constant_;
};

}  // namespace

Rewrites WriteLaw(const LawPattern& pattern, const Graph& graph, const LawBinding& binding) {
  if (!OutputsDiffer(pattern, binding)) return {};
  if (!IsReadInsideOnly(pattern, graph, binding)) return {};
  if (InputsDependOnOutputs(pattern, graph, binding)) return {};
  return LawWriter(pattern, graph, binding).Run();
}

Rewrites MatchLaw(const LawPattern& pattern, const Graph& graph, NodeId node) {
  Rewrites rewrites;
  for (const LawBinding& binding : BindLaw(pattern, graph, node)) {
    if (!IsFirstOfItsKind(pattern, binding)) continue;
    Rewrites written = WriteLaw(pattern, graph, binding);
    rewrites.insert(rewrites.end(), std::make_move_iterator(written.begin()),
                    std::make_move_iterator(written.end()));
  }
  return rewrites;
}

}  // namespace plait
