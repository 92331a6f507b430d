#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/ops/shared/eval_tensor.h"

// What an operator is: one constant of type OpSpec per operator, in the file that is named after
// it. The rest of this folder is what several of them share: their element types (type_set.h), axes
// (axes.h), shapes (broadcast.h), versions (versions.h), and the families elementwise.h,
// movement.h, reduction.h, comparison.h, extremes.h, softmax_axis.h, spatial_window.h.
namespace plait {

// The signatures of OpSpec's functions in short. Output types, or why there are none; the inputs'
// values, nullptr for an omitted one; the outputs, whose types are set.
using Types = absl::StatusOr<std::vector<TensorType>>;
using EvalInputs = absl::Span<const EvalTensor* const>;
using EvalOutputs = absl::Span<EvalTensor>;

// One use of an operator, as its functions see it. Looks at what its maker keeps alive.
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

// How many inputs or outputs an operator takes; omitted ones in between count.
struct Arity {
  int min = 1;
  int max = 1;  // kVariadic: no limit
};

constexpr int kVariadic = 1 << 20;

// OpSpec::removed_opset of most operators.
constexpr int kNeverRemoved = 1 << 20;

// An operator: a constant, defined in the file named after it and listed in op_kinds.def. What a
// constant does not name is the default: one input, one output, as old as ONNX. The functions are
// pure, so any thread may call them.
struct OpSpec {
  OpKind kind;
  // The first opset of ai.onnx that has the operator; export to an older opset expands it.
  int since_opset = 1;
  // The first that has it no more (Upsample); files of it and newer ones cannot say the operator.
  int removed_opset = kNeverRemoved;
  Arity inputs = {};
  Arity outputs = {};
  uint32_t traits = 0;  // OpTrait bits

  // Output types. Rejects everything that evaluation could not compute: wrong ranks, zero strides,
  // mismatching dimensions, axes out of range; never crashes, whatever the model says.
  // Errors: InvalidArgument (the model is wrong); Unimplemented (right, but not understood here,
  // such as a shape input that is not constant): the node becomes opaque.
  Types (*infer)(const OpCall& call);

  // REQUIRES: infer accepted the call with these output types. nullptr: one flop per output element
  // and every byte moved once.
  Work (*work)(const OpCall& call, absl::Span<const TensorType> output_types) = nullptr;

  // The reference value: inputs (nullptr when omitted) to outputs of the inferred types. Float
  // values are computed in double (the caller rounds them to the declared dtype), integers exactly,
  // and FieldElements exactly in GF(p). The caller has set each output's type and filled its values
  // with as many zeros, of the alternative that belongs to its dtype: double (in GF(p):
  // FieldElement) for floats, int64 for integers and bools. REQUIRES: infer accepted the call.
  // Errors: Unimplemented for a number type that the operator has no meaning in (Exp in GF(p)).
  absl::Status (*evaluate)(const OpCall& call, EvalInputs inputs, EvalOutputs outputs);

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
  // Inputs of `node` are tensors of `builder`, an output of kNoTensor is not wanted. nullptr: none.
  // Errors: Unimplemented for a form that older operators cannot express either.
  absl::StatusOr<std::vector<TensorId>> (*expand)(const Node& node,
                                                  GraphBuilder* builder) = nullptr;

  // Whether import writes a use of the operator as `expand` does, because the operators that it is
  // made of run at least as fast: then no graph has it, and no backend needs a kernel for it.
  // nullptr: never. REQUIRES: infer accepted the call.
  bool (*expands_at_import)(const OpCall& call) = nullptr;
};

// OpSpec::expands_at_import: every use.
inline bool AlwaysExpands(const OpCall&) { return true; }

// One constant per line of op_kinds.def, kAbsSpec and so on; declared here so that they have one
// linkage.
#define PLAIT_OP(name) extern const OpSpec k##name##Spec;
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP

// The table's entry. REQUIRES: op != kOpaque.
const OpSpec& SpecOf(OpKind op);

// True when the operator's traits contain all of `traits`. False for kOpaque.
bool HasTraits(OpKind op, uint32_t traits);

// Output types of a node, with arity checked.
// Errors: as OpSpec::infer, with the operator's name in front.
Types InferTypes(OpKind op, const Attributes& attributes, absl::Span<const TensorType> input_types,
                 absl::Span<const Tensor* const> constants, int output_count);

// Output types of a node whose inputs are tensors of `builder`.
// Errors: as above; InvalidArgument when an input that must be there is omitted.
Types InferTypes(const GraphBuilder& builder, const Node& node, int output_count);

// Output types of a node of a graph, whatever types the graph declares for them.
// Errors: as above.
Types InferTypes(const Graph& graph, NodeId node);

// A graph from its text form, as ParseGraph with InferTypes: output types may be left out, and
// those that are given must be the inferred ones. Errors: InvalidArgument naming the line.
absl::StatusOr<Graph> ParseTypedGraph(absl::string_view text);

// Whether import writes the node as its operator's `expand` does; false for opaque nodes.
bool ExpandsAtImport(const Graph& graph, NodeId node);

// One flop per output element and every byte moved once: what a null OpSpec::work means, and the
// start of most others.
Work DefaultWork(const OpCall& call, absl::Span<const TensorType> output_types);

// The work of one node; zero for opaque nodes.
Work WorkOf(const Graph& graph, NodeId node);

}  // namespace plait
