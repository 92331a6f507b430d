#include "optimizer/ops/shared/op_spec.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"

namespace plait {
namespace {

// Indexed by OpKind; kOpaque has no entry. Pointers, because the specs are constants of other
// files, whose addresses are known before any initializer runs.
constexpr std::array<const OpSpec*, kOpKindCount> kSpecs = {
    nullptr,
#define PLAIT_OP(name) &k##name##Spec,
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP
};

// What holds for every operator, so that none has to check it: counts, inputs that must be there,
// types that someone can compute with, shapes within the limits.
absl::Status CheckArity(const OpSpec& spec, absl::Span<const TensorType> input_types,
                        int output_count) {
  const int inputs = static_cast<int>(input_types.size());
  if (inputs < spec.inputs.min || inputs > spec.inputs.max) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", inputs, " inputs, needs ", spec.inputs.min,
                     spec.inputs.max == kVariadic        ? " or more"
                     : spec.inputs.max > spec.inputs.min ? absl::StrCat(" to ", spec.inputs.max)
                                                         : ""));
  }
  for (int i = 0; i < spec.inputs.min; ++i) {
    if (!input_types[i].known()) {
      return absl::UnimplementedError(
          absl::StrCat("input ", i, " is omitted, or its type is not known"));
    }
  }
  for (const TensorType& type : input_types) {
    if (type.dtype == DataType::kString || type.dtype == DataType::kComplex64 ||
        type.dtype == DataType::kComplex128) {
      return absl::UnimplementedError(
          absl::StrCat("no arithmetic for ", DataTypeName(type.dtype), " is implemented"));
    }
    if (!IsValidShape(type.shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input of shape ", ShapeToString(type.shape), " is larger than allowed"));
    }
  }
  if (output_count < spec.outputs.min || output_count > spec.outputs.max) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", output_count, " outputs, needs ", spec.outputs.min, " to ",
                     spec.outputs.max == kVariadic ? std::string("any number")
                                                   : absl::StrCat(spec.outputs.max)));
  }
  return absl::OkStatus();
}

// Guards every caller against a shape rule that let an oversized output through.
absl::Status CheckOutputs(absl::Span<const TensorType> types) {
  for (const TensorType& type : types) {
    if (!IsValidShape(type.shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output of shape ", ShapeToString(type.shape), " is larger than allowed"));
    }
  }
  return absl::OkStatus();
}

// The tensors are those of a builder or of a graph.
template <typename Tensors>
Types InferNode(const Tensors& tensors, const Node& node, int output_count) {
  std::vector<TensorType> types;
  std::vector<const Tensor*> constants;
  for (TensorId id : node.inputs) {
    if (id == kNoTensor && node.op != OpKind::kOpaque &&
        static_cast<int>(types.size()) < SpecOf(node.op).inputs.min) {
      return absl::InvalidArgumentError(
          absl::StrCat(OpKindName(node.op), ": input ", types.size(), " must not be omitted"));
    }
    const TensorInfo* info = id == kNoTensor ? nullptr : &tensors.tensor(id);
    types.push_back(info == nullptr ? TensorType{} : info->type);
    constants.push_back(
        info == nullptr || info->constant == nullptr ? nullptr : info->constant->inline_value());
  }
  return InferTypes(node.op, *node.attributes, types, constants, output_count);
}

}  // namespace

const OpSpec& SpecOf(OpKind op) {
  PLAIT_CHECK(op != OpKind::kOpaque);
  return *kSpecs[static_cast<size_t>(op)];
}

bool HasTraits(OpKind op, uint32_t traits) {
  return op != OpKind::kOpaque && (SpecOf(op).traits & traits) == traits;
}

// Checks that all operators share come first, and the operator's name in front of every message.
Types InferTypes(OpKind op, const Attributes& attributes, absl::Span<const TensorType> input_types,
                 absl::Span<const Tensor* const> constants, int output_count) {
  if (op == OpKind::kOpaque) return absl::UnimplementedError("Opaque: its types are not known");
  const OpSpec& spec = SpecOf(op);
  const OpCall call{attributes, input_types, constants, output_count};
  absl::Status status = CheckArity(spec, input_types, output_count);
  if (status.ok()) {
    Types types = spec.infer(call);
    status = types.ok() ? CheckOutputs(*types) : types.status();
    if (status.ok()) return types;
  }
  return Annotate(status, OpKindName(op));
}

Types InferTypes(const GraphBuilder& builder, const Node& node, int output_count) {
  return InferNode(builder, node, output_count);
}

Types InferTypes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return InferNode(graph, node, static_cast<int>(node.outputs.size()));
}

absl::StatusOr<Graph> ParseTypedGraph(absl::string_view text) {
  // InferTypes is overloaded, so the one that is meant must be said.
  return ParseGraph(
      text, [](OpKind op, const Attributes& attributes, absl::Span<const TensorType> input_types,
               absl::Span<const Tensor* const> constants, int output_count) {
        return InferTypes(op, attributes, input_types, constants, output_count);
      });
}

namespace {

// Calls use(spec, call, output_types) with one use of an operator. REQUIRES: the node is not
// opaque.
template <typename Use>
auto WithCall(const Graph& graph, NodeId id, Use use) {
  const Node& node = graph.node(id);
  std::vector<TensorType> inputs;
  std::vector<const Tensor*> constants;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool omitted = node.inputs[i] == kNoTensor;
    inputs.push_back(omitted ? TensorType{} : graph.type(node.inputs[i]));
    constants.push_back(omitted ? nullptr : graph.inline_constant(id, static_cast<int>(i)));
  }
  std::vector<TensorType> outputs;
  for (TensorId output : node.outputs) {
    outputs.push_back(output == kNoTensor ? TensorType{} : graph.type(output));
  }
  const OpCall call{*node.attributes, inputs, constants, static_cast<int>(outputs.size())};
  return use(SpecOf(node.op), call, outputs);
}

}  // namespace

// Opaque nodes have none, because nobody knows what they do.
Work WorkOf(const Graph& graph, NodeId id) {
  if (graph.node(id).op == OpKind::kOpaque) return Work{};
  return WithCall(graph, id, [](const OpSpec& spec, const OpCall& call, const auto& outputs) {
    return spec.work == nullptr ? DefaultWork(call, outputs) : spec.work(call, outputs);
  });
}

bool ExpandsAtImport(const Graph& graph, NodeId id) {
  const OpKind op = graph.node(id).op;
  if (op == OpKind::kOpaque || SpecOf(op).expands_at_import == nullptr) return false;
  return WithCall(graph, id, [](const OpSpec& spec, const OpCall& call, const auto&) {
    return spec.expands_at_import(call);
  });
}

// Everything is read and written once, at an operation per element that is written.
Work DefaultWork(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work;
  for (const TensorType& type : call.input_types) work.bytes += type.bytes();
  for (const TensorType& type : output_types) {
    if (!type.known()) continue;
    work.bytes += type.bytes();
    work.flops += type.elements();
  }
  return work;
}

}  // namespace plait
