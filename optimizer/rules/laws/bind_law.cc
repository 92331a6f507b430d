#include "optimizer/rules/laws/bind_law.h"

#include <algorithm>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using Ints = std::vector<int64_t>;

// 64 places with one root: siblings of a node are tried each with each.
constexpr size_t kBindingsMax = 64;
// Nodes tried from one root, in all: what a node with a thousand readers may cost.
constexpr int kTriesMax = 2000;

// Counted from the last dimension, which is -1; 0 where it cannot be.
int64_t AxisFromEnd(const Attributes& attributes, int rank) {
  const int64_t axis = attributes.Int("axis", 0);
  return axis < 0 ? axis : axis - rank;
}

class Binder {
 public:
  Binder(const LawPattern& pattern, const Graph& graph)
      : pattern_(pattern), source_(pattern.law.source), graph_(graph) {}

  std::vector<LawBinding> Run(NodeId root) {
    if (!HasNeighbours(root)) return {};
    LawBinding binding;
    binding.tensors.assign(source_.tensor_count(), kNoTensor);
    binding.shapes.resize(source_.tensor_count());
    binding.nodes.assign(source_.node_count(), kNoNode);
    binding.dtype = graph_.node(root).outputs.empty() || graph_.node(root).outputs[0] == kNoTensor
                        ? DataType::kUndefined
                        : graph_.output_type(root).dtype;
    if (IsFloat(binding.dtype)) Try(binding, pattern_.root, root, 0);
    return std::move(found_);
  }

 private:
  // Whether what stands beside the root applies the operators that it has to: most nodes fail here,
  // before anything is set up.
  bool HasNeighbours(NodeId root) const {
    if (!AppliesOperatorOf(pattern_.root, root)) return false;
    const Node& law = source_.node(pattern_.root);
    const Node& here = graph_.node(root);
    const auto has = [](const auto& tensors, TensorId tensor) {
      return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
    };
    return std::all_of(
        pattern_.visits.begin(), pattern_.visits.end(), [&](const LawPattern::Visit& visit) {
          const bool is_input = has(law.inputs, visit.via);
          if (!is_input && !has(law.outputs, visit.via)) return true;
          const auto& tensors =
              is_input ? absl::MakeConstSpan(here.inputs) : absl::MakeConstSpan(here.outputs);
          return std::any_of(tensors.begin(), tensors.end(), [&](TensorId tensor) {
            return tensor != kNoTensor && IsBeside(tensor, visit);
          });
        });
  }

  bool IsBeside(TensorId tensor, const LawPattern::Visit& visit) const {
    const NodeId producer = graph_.tensor(tensor).producer;
    if (!visit.is_reader) return producer != kNoNode && AppliesOperatorOf(visit.node, producer);
    const auto users = graph_.users(tensor);
    return std::any_of(users.begin(), users.end(),
                       [&](NodeId user) { return AppliesOperatorOf(visit.node, user); });
  }

  // Takes `node` for the source's `wanted`, and goes on with the visit `next`.
  void Try(const LawBinding& before, NodeId wanted, NodeId node, size_t next) {
    if (!AppliesOperatorOf(wanted, node)) return;
    if (++tries_ > kTriesMax || found_.size() == kBindingsMax) return;
    const bool commutes =
        HasTraits(source_.node(wanted).op, kCommutative) && source_.node(wanted).inputs.size() == 2;
    for (const bool is_exchanged : {false, true}) {
      if (is_exchanged && !commutes) break;
      LawBinding binding = before;
      if (BindNode(wanted, node, is_exchanged, &binding)) Continue(binding, next);
    }
  }

  bool AppliesOperatorOf(NodeId wanted, NodeId node) const {
    const Node& law = source_.node(wanted);
    const Node& here = graph_.node(node);
    if (here.outputs.size() < law.outputs.size()) return false;
    return law.op == OpKind::kRelu ? HasTraits(here.op, kElementwiseUnary) : here.op == law.op;
  }

  void Continue(const LawBinding& binding, size_t next) {
    if (next == pattern_.visits.size()) {
      if (found_.size() < kBindingsMax) found_.push_back(binding);
      return;
    }
    const LawPattern::Visit& visit = pattern_.visits[next];
    const TensorId via = binding.tensors[visit.via];
    if (!visit.is_reader) {
      const NodeId producer = graph_.tensor(via).producer;
      if (producer != kNoNode) Try(binding, visit.node, producer, next + 1);
      return;
    }
    for (const NodeId user : graph_.users(via)) Try(binding, visit.node, user, next + 1);
  }

  bool BindNode(NodeId wanted, NodeId node, bool is_exchanged, LawBinding* binding) const {
    const Node& law = source_.node(wanted);
    const Node& here = graph_.node(node);
    if (here.outputs.size() != law.outputs.size()) return false;
    if (law.op == OpKind::kRelu && !BindFunction(here, binding)) return false;
    if (!BindAttributes(wanted, node, binding)) return false;
    binding->nodes[wanted] = node;
    const bool broadcasts = HasTraits(law.op, kElementwiseBinary) || law.op == OpKind::kRelu;
    for (size_t i = 0; i < law.outputs.size(); ++i) {
      const TensorId output = here.outputs[i];
      if (output == kNoTensor) return false;
      const bool is_bound = binding->tensors[law.outputs[i]] != kNoTensor;
      const Shape shape = is_bound ? binding->shapes[law.outputs[i]] : graph_.type(output).shape;
      if (!broadcasts && shape != graph_.type(output).shape) return false;
      if (!BindTensor(law.outputs[i], output, shape, binding)) return false;
    }
    // What a law's operators read: further inputs (a bias, sizes, bounds) are looked at elsewhere.
    const size_t operands = OperandsOf(law);
    if (here.inputs.size() < operands) return false;
    for (size_t i = 0; i < operands; ++i) {
      const TensorId input = here.inputs[is_exchanged ? operands - 1 - i : i];
      if (input == kNoTensor) return false;
      const Shape shape = broadcasts ? binding->shapes[law.outputs[0]] : graph_.type(input).shape;
      if (!BindTensor(law.inputs[i], input, shape, binding)) return false;
    }
    return true;
  }

  static size_t OperandsOf(const Node& law) {
    const bool is_split = law.op == OpKind::kSplit;
    return is_split ? 1 : law.inputs.size();
  }

  bool BindFunction(const Node& here, LawBinding* binding) const {
    const absl::InlinedVector<TensorId, 2> further(here.inputs.begin() + 1, here.inputs.end());
    for (const TensorId input : further) {
      if (input != kNoTensor && graph_.tensor(input).constant == nullptr) return false;
    }
    if (binding->function == OpKind::kOpaque) {
      binding->function = here.op;
      binding->function_attributes = here.attributes;
      binding->function_inputs = further;
      return true;
    }
    return binding->function == here.op && *binding->function_attributes == *here.attributes &&
           binding->function_inputs == further;
  }

  bool BindAttributes(NodeId wanted, NodeId node, LawBinding* binding) const {
    const Node& law = source_.node(wanted);
    const Node& here = graph_.node(node);
    switch (law.op) {
      case OpKind::kConcat:
        return here.inputs.size() == law.inputs.size() && HasAxisOf(wanted, node);
      case OpKind::kSplit:
        return HasAxisOf(wanted, node) && BindParts(wanted, node, binding);
      case OpKind::kTranspose:
        return ExchangesTheLastTwo(here, graph_.input_type(node, 0).rank());
      case OpKind::kConv:
        return BindWindow(wanted, node, &binding->conv_windows);
      case OpKind::kAveragePool:
        return BindWindow(wanted, node, &binding->pool_windows);
      case OpKind::kPad:
        return here.inputs.size() == 2 && here.attributes->String("mode", "constant") == "constant";
      default:
        return true;
    }
  }

  bool HasAxisOf(NodeId wanted, NodeId node) const {
    return AxisFromEnd(*source_.node(wanted).attributes, source_.input_type(wanted, 0).rank()) ==
           AxisFromEnd(*graph_.node(node).attributes, graph_.input_type(node, 0).rank());
  }

  // Without sizes a law's Split makes equal parts.
  bool BindParts(NodeId wanted, NodeId node, LawBinding* binding) const {
    const Tensor* sizes = source_.inline_constant(wanted, 1);
    const int64_t axis =
        AxisFromEnd(*source_.node(wanted).attributes, source_.input_type(wanted, 0).rank());
    const auto size_at = [&](const TensorType& type) {
      const int64_t place = type.rank() + axis;
      return place < 0 || place >= type.rank() ? -1 : type.shape[static_cast<size_t>(place)];
    };
    const int count = static_cast<int>(source_.node(wanted).outputs.size());
    int64_t rest = size_at(graph_.input_type(node, 0));
    for (int i = 0; i < count; ++i) {
      if (graph_.node(node).outputs[i] == kNoTensor) return false;
      const int64_t part = size_at(graph_.output_type(node, i));
      rest -= part;
      const bool fits = sizes == nullptr ? part == size_at(graph_.output_type(node, 0))
                                         : BindSize(sizes->AsInt64s()[i], 0, part, binding);
      if (!fits) return false;
    }
    return rest == 0;  // trailing parts that nothing reads may be left out
  }

  static bool ExchangesTheLastTwo(const Node& here, int rank) {
    Ints expected;
    for (int i = 0; i < rank; ++i) expected.push_back(i);
    if (rank < 2) return false;
    std::swap(expected[rank - 2], expected[rank - 1]);
    Ints reversed(expected.size());
    for (int i = 0; i < rank; ++i) reversed[i] = rank - 1 - i;
    return here.attributes->Ints("perm", reversed) == expected;
  }

  bool BindWindow(NodeId wanted, NodeId node, std::vector<LawWindow>* windows) const {
    const std::vector<LawWindow> window = WindowOf(graph_, node);
    if (window.empty()) return false;
    if (!pattern_.law.any_window) return window == WindowOf(source_, wanted);
    // Rounding up was not proved.
    if (window[0].attributes.Int("ceil_mode", 0) != 0) return false;
    if (windows->empty()) *windows = window;
    return *windows == window;
  }

  bool BindTensor(TensorId wanted, TensorId tensor, const Shape& shape, LawBinding* binding) const {
    const TensorInfo& law = source_.tensor(wanted);
    if (law.constant != nullptr) {
      const ConstantRef& here = graph_.tensor(tensor).constant;
      const Tensor* value = here == nullptr ? nullptr : here->inline_value();
      return value != nullptr && *value == *law.constant->inline_value();
    }
    if (binding->tensors[wanted] != kNoTensor) {
      return binding->tensors[wanted] == tensor && binding->shapes[wanted] == shape;
    }
    const int rank = static_cast<int>(shape.size());
    const int law_rank = law.type.rank();
    if (graph_.type(tensor).dtype != binding->dtype) return false;
    if (!pattern_.is_elementwise && (law_rank == 2 ? rank < 2 : rank != law_rank)) return false;
    binding->tensors[wanted] = tensor;
    binding->shapes[wanted] = shape;
    if (law.producer != kNoNode || pattern_.is_elementwise) return true;
    for (int axis = 0; axis < law_rank; ++axis) {
      const int64_t size = shape[static_cast<size_t>(rank - law_rank + axis)];
      if (!BindSize(law.type.shape[axis], axis, size, binding)) return false;
    }
    return true;
  }

  bool BindSize(int64_t size, int axis, int64_t here, LawBinding* binding) const {
    if (!IsVariableSize(size)) {
      if (!pattern_.law.any_window || size != 3 || axis < 2) return size == here;
      size = -axis;
    }
    const int64_t known = binding->SizeOf(size);
    if (known == LawBinding::kNoValue) binding->sizes.emplace_back(size, here);
    return known == LawBinding::kNoValue || known == here;
  }

  const LawPattern& pattern_;
  const Graph& source_;
  const Graph& graph_;
  std::vector<LawBinding> found_;
  int tries_ = 0;
};

}  // namespace

int64_t LawBinding::SizeOf(int64_t size) const {
  const auto* const place = std::find_if(sizes.begin(), sizes.end(),
                                         [&](const auto& pair) { return pair.first == size; });
  return place == sizes.end() ? kNoValue : place->second;
}

std::vector<LawWindow> WindowOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Attributes& said = *node.attributes;
  const std::string auto_pad = said.String("auto_pad", "NOTSET");
  if (graph.input_type(id, 0).rank() != 4) return {};
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return {};
  LawWindow window{{{"strides", said.Ints("strides", {1, 1})},
                    {"dilations", said.Ints("dilations", {1, 1})},
                    {"pads", said.Ints("pads", {0, 0, 0, 0})}},
                   {}};
  if (node.op == OpKind::kConv) {
    if (said.Int("group", 1) != 1) return {};
    const Shape& kernel = graph.input_type(id, 1).shape;
    if (kernel.size() != 4) return {};
    window.kernel = {kernel[2], kernel[3]};
  } else {
    window.attributes.Set("kernel_shape", said.Ints("kernel_shape"));
    window.attributes.Set("ceil_mode", said.Int("ceil_mode", 0));
    window.attributes.Set("count_include_pad", said.Int("count_include_pad", 0));
  }
  return {window};
}

std::vector<LawBinding> BindLaw(const LawPattern& pattern, const Graph& graph, NodeId root) {
  return Binder(pattern, graph).Run(root);
}

}  // namespace plait
