#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/ops/shared/eval_tensor.h"

namespace plait {

// One use of an operator, as its functions see it.
struct OpCall {
  const Attributes& attributes;
  // Types of the inputs; dtype kUndefined for an omitted one. Trailing omitted inputs may be
  // missing.
  absl::Span<const TensorType> input_types;
  // Values of inputs that are inline constants, nullptr for the others; as long as input_types.
  absl::Span<const Tensor* const> constants;
  int output_count = 1;

  bool has_input(size_t index) const {
    return index < input_types.size() && input_types[index].known();
  }
  const Tensor* constant(size_t index) const {
    return index < constants.size() ? constants[index] : nullptr;
  }
};

// What a use of an operator costs at least, counted from its definition.
struct Work {
  int64_t flops = 0;  // a multiply-add counts as two
  int64_t bytes = 0;  // every input read once, every output written once; views move nothing
};

// What rules, partition and covers may assume about an operator.
enum OpTrait : uint32_t {
  kElementwiseUnary = 1,   // out[i] = f(in0[i]); further inputs are scalars or attributes
  kElementwiseBinary = 2,  // two inputs, numpy broadcasting
  kView = 4,               // same elements in the same row-major order, other shape
  kDataMovement = 8,       // moves or repeats elements, computes none
  kCommutative = 16,       // the inputs may be exchanged
};

// A node of an older opset on its way into the IR (see OpSpec::raise) or of the newest on its way
// out. Inputs that a version moved between attribute and input are exchanged through `constants`.
struct VersionedNode {
  int opset = 0;  // the model's opset for the operator's domain
  Attributes attributes;
  // Per input: its value when it is an inline constant, else nullopt. present[i]: not omitted.
  std::vector<std::optional<Tensor>> constants;
  std::vector<bool> present;
  std::vector<TensorType> input_types;
  int output_count = 1;
};

// An operator: a constant, defined in the file named after it and listed in op_kinds.def.
struct OpSpec {
  OpKind kind;
  // The first opset of ai.onnx that has the operator; export to an older opset expands it.
  int since_opset;
  int inputs_min;
  int inputs_max;  // kVariadic: no limit
  int outputs_min;
  int outputs_max;
  uint32_t traits = 0;  // OpTrait bits

  // Output types. Rejects everything that evaluation could not compute: wrong ranks, zero strides,
  // mismatching dimensions, axes out of range; never crashes, whatever the model says.
  // Errors: InvalidArgument (the model is wrong); Unimplemented (right, but not understood here,
  // such as a shape input that is not constant): the node becomes opaque.
  absl::StatusOr<std::vector<TensorType>> (*infer)(const OpCall& call);

  // REQUIRES: infer accepted the call with these output types. nullptr: one flop per output element
  // and every byte moved once.
  Work (*work)(const OpCall& call, absl::Span<const TensorType> output_types) = nullptr;

  // The reference value: inputs (nullptr when omitted) to outputs of the inferred types. Float
  // values are computed in double (the caller rounds them to the declared dtype), integers exactly,
  // and FieldElements exactly in GF(p). The caller has set each output's type and filled its values
  // with as many zeros, of the alternative that belongs to its dtype: double (in GF(p):
  // FieldElement) for floats, int64 for integers and bools. REQUIRES: infer accepted the call.
  // Errors: Unimplemented for a number type that the operator has no meaning in (Exp in GF(p)).
  absl::Status (*evaluate)(const OpCall& call, absl::Span<const EvalTensor* const> inputs,
                           absl::Span<EvalTensor> outputs);

  // Rewrites a node of opset node->opset to the newest opset's form: attributes that became inputs
  // are appended as constants, defaults that changed are written out. Called for the newest opset
  // too, because the IR has one form only (auto_pad becomes pads). nullptr: all versions mean the
  // same. Errors: Unimplemented for a form that the newest opset cannot express; the node
  // becomes opaque.
  absl::Status (*raise)(VersionedNode* node) = nullptr;

  // The inverse, to node->opset >= since_opset (or the oldest form that expresses it).
  // Errors: Unimplemented when that opset cannot express the node; the exporter then uses `expand`.
  absl::Status (*lower)(VersionedNode* node) = nullptr;

  // Writes the operator as older ones, for opsets before since_opset or when `lower` failed: adds
  // nodes of the newest opset's form to `builder` and returns the outputs, as many as `node` has.
  // The inputs of `node` are tensors of `builder`. nullptr: cannot be expanded.
  // Errors: Unimplemented for a form that older operators cannot express either.
  absl::StatusOr<std::vector<TensorId>> (*expand)(const Node& node,
                                                  GraphBuilder* builder) = nullptr;
};

constexpr int kVariadic = 1 << 20;

// One constant per line of op_kinds.def, kAbsSpec and so on; declared here so that they have one
// linkage.
#define PLAIT_OP(name) extern const OpSpec k##name##Spec;
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP

// The table's entry. REQUIRES: op != kOpaque.
const OpSpec& SpecOf(OpKind op);

// True when the operator's traits contain all of `traits`. False for kOpaque.
bool HasTraits(OpKind op, uint32_t traits);

// Output types of a node, with arity checked. An InferFunction for ParseGraph.
// Errors: as OpSpec::infer, with the operator's name in front.
absl::StatusOr<std::vector<TensorType>> InferTypes(OpKind op, const Attributes& attributes,
                                                   absl::Span<const TensorType> input_types,
                                                   absl::Span<const Tensor* const> constants,
                                                   int output_count);

// Output types of a node whose inputs are tensors of `builder`.
absl::StatusOr<std::vector<TensorType>> InferTypes(const GraphBuilder& builder, const Node& node,
                                                   int output_count);

// One flop per output element and every byte moved once: what a null OpSpec::work means, and the
// start of most others.
Work DefaultWork(const OpCall& call, absl::Span<const TensorType> output_types);

// The work of one node; zero for opaque nodes.
Work WorkOf(const Graph& graph, NodeId node);

}  // namespace plait
