#include "optimizer/rules/generator/generalize_law.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/generator/size_inference.h"
#include "optimizer/rules/generator/verify_law.h"

namespace plait {
namespace {

using Ints = std::vector<int64_t>;

// The graph with inputs of other types, and nodes changed on the way; all other types inferred.
template <typename Change>
absl::StatusOr<Graph> Changed(const Graph& graph, absl::Span<const TensorType> inputs,
                              Change change) {
  GraphBuilder builder;
  std::vector<TensorId> added;
  for (size_t i = 0; i < inputs.size(); ++i) {
    added.push_back(builder.AddInput(inputs[i], *graph.tensor(graph.inputs()[i]).name));
  }
  GraphCopier copier(graph, &builder, added);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    Node node = copier.Detached(id);
    change(id, &node, &builder);
    const auto& original = graph.node(id).outputs;
    PLAIT_ASSIGN_OR_RETURN(const auto types,
                           InferTypes(builder, node, static_cast<int>(original.size())));
    const std::vector<TensorId> outputs = builder.AddNode(std::move(node), types);
    for (size_t i = 0; i < outputs.size(); ++i) copier.Set(original[i], outputs[i]);
  }
  for (const TensorId output : graph.outputs()) builder.AddOutput(copier.TensorOf(output));
  return std::move(builder).Finish();
}

// A law's sizes as terms: those of its inputs, and of the parts of its Splits.
class FreeSizes {
 public:
  explicit FreeSizes(const Law& law) : law_(law) {
    for (const TensorId input : law.source.inputs()) {
      SymbolicSizes sizes;
      for (const int64_t size : law.source.type(input).shape) {
        const int term = IsVariableSize(size) ? inference_.NewTerm() : inference_.Fixed(size);
        sizes.push_back({term});
        sizes_[term] = size;
      }
      inputs_.push_back(std::move(sizes));
    }
  }

  // The law with the fewest sizes that must be equal; none where its types cannot be said so.
  std::optional<Law> Run() {
    std::vector<SymbolicSizes> before;
    std::vector<SymbolicSizes> after;
    if (!Infer(law_.source, &before, &source_parts_)) return std::nullopt;
    if (!Infer(law_.target, &after, &target_parts_)) return std::nullopt;
    for (size_t i = 0; i < before.size(); ++i) {
      if (!inference_.Equal(before[i], after[i])) return std::nullopt;
    }
    if (!inference_.Close()) return std::nullopt;
    SizeNumbers numbers;
    std::vector<TensorType> types;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TensorType type = law_.source.type(law_.source.inputs()[i]);
      for (int axis = 0; axis < type.rank(); ++axis) {
        type.shape[axis] = numbers.Of(inference_, inputs_[i][axis][0], axis);
        if (type.shape[axis] == 0) return std::nullopt;
      }
      types.push_back(std::move(type));
    }
    Law law = law_;
    auto source = WithParts(law_.source, types, source_parts_, &numbers);
    auto target = WithParts(law_.target, types, target_parts_, &numbers);
    if (!source.ok() || !target.ok()) return std::nullopt;
    law.source = *std::move(source);
    law.target = *std::move(target);
    return law;
  }

 private:
  using Parts = std::vector<SymbolicSize>;  // of a Split; empty: halves

  bool Infer(const Graph& graph, std::vector<SymbolicSizes>* outputs, std::vector<Parts>* parts) {
    std::vector<SymbolicSizes> values(graph.tensor_count());
    for (size_t i = 0; i < inputs_.size(); ++i) values[graph.inputs()[i]] = inputs_[i];
    parts->resize(graph.node_count());
    for (NodeId id = 0; id < graph.node_count(); ++id) {
      const Node& node = graph.node(id);
      std::vector<SymbolicSizes> inputs;
      for (const TensorId input : node.inputs) {
        if (graph.tensor(input).constant == nullptr) inputs.push_back(values[input]);
      }
      SizeInference::Use use{node.op, *node.attributes, static_cast<int>(node.outputs.size())};
      if (node.op == OpKind::kSplit) use.first_part = FirstPart(graph, id, inputs[0]);
      std::vector<SymbolicSizes> made;
      if (!inference_.Step(use, inputs, &made) || made.size() != node.outputs.size()) return false;
      for (size_t i = 0; i < made.size(); ++i) {
        if (use.first_part > 0) (*parts)[id].push_back(made[i][AxisOf(node)]);
        values[node.outputs[i]] = std::move(made[i]);
      }
    }
    for (const TensorId output : graph.outputs()) outputs->push_back(values[output]);
    return true;
  }

  static size_t AxisOf(const Node& node) {
    return static_cast<size_t>(node.attributes->Int("axis", 0));
  }

  // One where both parts are one term, which a text can name; 0 for halves.
  size_t FirstPart(const Graph& graph, NodeId id, const SymbolicSizes& whole) const {
    const Node& node = graph.node(id);
    const SymbolicSize& terms = whole[AxisOf(node)];
    if (node.inputs.size() > 1 || terms.size() != 2) return 0;
    return sizes_.at(terms[0]) == graph.output_type(id).shape[AxisOf(node)] ? 1 : 0;
  }

  absl::StatusOr<Graph> WithParts(const Graph& graph, absl::Span<const TensorType> types,
                                  const std::vector<Parts>& parts, SizeNumbers* numbers) const {
    return Changed(graph, types, [&](NodeId id, Node* node, GraphBuilder* builder) {
      if (parts[id].empty()) return;
      Ints sizes;
      const int axis = static_cast<int>(AxisOf(*node));
      for (const SymbolicSize& part : parts[id]) {
        sizes.push_back(numbers->Of(inference_, part[0], axis));
      }
      if (sizes[0] == sizes[1]) return;
      node->attributes = MakeAttributes({{"axis", int64_t{axis}}});
      node->inputs.push_back(builder->AddConstant(Constant::OfTensor(Tensor::Int64s(sizes))));
    });
  }

  const Law& law_;
  SizeInference inference_;
  std::vector<SymbolicSizes> inputs_;
  std::map<int, int64_t> sizes_;  // of terms: what the law's text has there
  std::vector<Parts> source_parts_;
  std::vector<Parts> target_parts_;
};

// How a window may look. An image of 7x9 has room for each.
struct Form {
  Ints kernel;
  Ints strides;
  Ints pads;
  Ints dilations;
  bool counts_padding = true;
};
const Form kForms[] = {
    {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, true},  {{3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true},
    {{1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, true},  {{1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false},
    {{5, 3}, {2, 1}, {2, 1, 1, 0}, {1, 1}, false}, {{2, 4}, {1, 2}, {0, 1, 2, 1}, {2, 1}, true},
    {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, false}, {{1, 7}, {1, 1}, {0, 3, 0, 3}, {1, 1}, false},
};

Attributes AttributesOf(OpKind op, const Form& form) {
  Attributes attributes{
      {"strides", form.strides}, {"pads", form.pads}, {"dilations", form.dilations}};
  if (op == OpKind::kAveragePool) {
    attributes.Set("kernel_shape", form.kernel);
    attributes.Set("count_include_pad", int64_t{form.counts_padding});
  }
  return attributes;
}

absl::StatusOr<Graph> AtForms(const Graph& graph, const Form& conv, const Form& pool) {
  std::vector<TensorType> types;
  for (const TensorId input : graph.inputs()) {
    types.push_back(graph.type(input));
    for (int axis = 2; axis < types.back().rank(); ++axis) {
      if (types.back().shape[axis] == 3) types.back().shape[axis] = conv.kernel[axis - 2];
    }
  }
  return Changed(graph, types, [&](NodeId, Node* node, GraphBuilder*) {
    if (node->op == OpKind::kConv) node->attributes = MakeAttributes(AttributesOf(node->op, conv));
    if (node->op == OpKind::kAveragePool) {
      node->attributes = MakeAttributes(AttributesOf(node->op, pool));
    }
  });
}

// Whether all windows of an operator are one: the attributes of its nodes, and kernels of 3x3.
bool HasOneWindow(const Law& law, OpKind op) {
  AttributesRef attributes;
  for (const Graph* graph : {&law.source, &law.target}) {
    for (const Node& node : graph->nodes()) {
      if (node.op == OpKind::kPad) return false;
      if (node.op != op) continue;
      if (op == OpKind::kConv && graph->type(node.inputs[1]).shape[2] != 3) return false;
      if (attributes == nullptr) attributes = node.attributes;
      if (*attributes != *node.attributes) return false;
    }
  }
  return true;
}

bool HasWindows(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.op == OpKind::kConv || node.op == OpKind::kAveragePool;
  });
}

// A target without types at some windows is no target there; where it has some it must agree.
bool HoldsForAnyWindow(const Law& law, uint64_t seed) {
  if (!HasWindows(law.source)) return false;
  if (!HasOneWindow(law, OpKind::kConv) || !HasOneWindow(law, OpKind::kAveragePool)) return false;
  size_t agreed = 0;
  for (const Form& conv : kForms) {
    for (const Form& pool : kForms) {
      const auto source = AtForms(law.source, conv, pool);
      const auto target = AtForms(law.target, conv, pool);
      if (!source.ok() || !target.ok()) continue;
      for (uint64_t point = 0; point < 2; ++point) {
        if (!AgreeAtAPoint(*source, *target, seed + point)) return false;
      }
      ++agreed;
    }
  }
  return agreed >= std::size(kForms);
}

}  // namespace

Law Generalized(const Law& law, uint64_t seed) {
  Law general = law;
  std::optional<Law> freed = FreeSizes(law).Run();
  if (freed) {
    const auto evidence = VerifyLaw(*freed, seed);
    if (evidence.ok()) {
      general = *std::move(freed);
      general.evidence = evidence->ToString();
    }
  }
  if (HoldsForAnyWindow(general, seed)) {
    general.any_window = true;
    absl::StrAppend(&general.evidence, ", and at windows of ", std::size(kForms), " forms");
  }
  return general;
}

absl::Status VerifyGeneral(const Law& law, uint64_t seed) {
  PLAIT_RETURN_IF_ERROR(VerifyLaw(law, seed).status());
  if (!law.any_window || HoldsForAnyWindow(law, seed)) return absl::OkStatus();
  return absl::FailedPreconditionError("the sides differ at some windows");
}

}  // namespace plait
