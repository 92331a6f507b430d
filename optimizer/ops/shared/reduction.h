#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "absl/functional/function_ref.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

// What the Reduce operators share. Input 1, optional and constant, lists the axes; without it all
// are reduced, or none when noop_with_empty_axes is set. With keepdims a reduced axis stays as 1:
// float32[2,3] over axis 1 gives [2,1], without keepdims [2].
namespace plait {

// One reduction, read from its node.
struct Reduction {
  TensorType type;     // the result's
  Shape kept;          // the result's shape with every reduced axis as 1
  int64_t count = 1;   // how many elements one result is made of
  bool empty = false;  // no axis is reduced: the result is the input
};

// Errors: InvalidArgument for axes that are out of range or given twice; Unimplemented for axes
// that are not constant.
absl::StatusOr<Reduction> ReductionOf(const OpCall& call);

// OpSpec::infer over the element types `set`.
// Errors: as ReductionOf; InvalidArgument for another element type.
Types InferReduce(const OpCall& call, TypeSet set);
template <TypeSet set>
Types InferReduceOf(const OpCall& call) {
  return InferReduce(call, set);
}

// One operation per input element.
Work WorkOfReduce(const OpCall& call, absl::Span<const TensorType> output_types);

// OpSpec::raise and lower: before `axes_opset` the axes were an attribute; ReduceSum changed with
// opset 13, the others with 18. Lowering counts the axes from the front, as opsets before 11 need
// it.
// Errors: Unimplemented when lowering axes that are not constant, or a reduction of nothing, which
// only newer opsets can say.
absl::Status RaiseReduce(VersionedNode* node, int axes_opset);
absl::Status LowerReduce(VersionedNode* node, int axes_opset);
template <int axes_opset>
absl::Status RaiseReduceOf(VersionedNode* node) {
  return RaiseReduce(node, axes_opset);
}
template <int axes_opset>
absl::Status LowerReduceOf(VersionedNode* node) {
  return LowerReduce(node, axes_opset);
}

// OpSpec::expand: an Identity when nothing is reduced.
// Errors: Unimplemented when something is.
absl::StatusOr<std::vector<TensorId>> ExpandReduce(const Node& node, GraphBuilder* builder);

// The same of a reduction that does more than to combine: over no axes, ReduceL1 still takes the
// magnitude of each element. `element` writes what one element becomes.
// Errors: Unimplemented when something is reduced.
absl::StatusOr<std::vector<TensorId>> ExpandElements(
    const Node& node, GraphBuilder* builder,
    absl::FunctionRef<TensorId(TensorId x, Expansion* expansion)> element);

// The same where an element becomes what `op` makes of it.
template <OpKind op>
absl::StatusOr<std::vector<TensorId>> ExpandElementsBy(const Node& node, GraphBuilder* builder) {
  return ExpandElements(node, builder,
                        [](TensorId x, Expansion* expansion) { return expansion->Add(op, {x}); });
}

// OpSpec::expands_at_import of those: when nothing is reduced.
bool ReducesNothing(const OpCall& call);

// InferReduce for float types; what a logarithm of integers is ONNX leaves open, and its own
// evaluator has none.
// Errors: as InferReduce; Unimplemented for integers.
Types InferFloatReduce(const OpCall& call);

// Sets each result to combine(... combine(combine(initial, x0), x1) ...) over its elements in
// row-major order, so that a sum of doubles is the same on every machine. T is the number type that
// both tensors hold.
template <typename T, typename Combine>
void Reduce(const Reduction& reduction, const EvalTensor& input, T initial, Combine combine,
            std::vector<T>* output) {
  const auto& x = std::get<std::vector<T>>(input.values);
  std::fill(output->begin(), output->end(), initial);
  ForEachIndex<1>(input.type.shape, {BroadcastStrides(reduction.kept, input.type.shape)},
                  [&](int64_t index, const std::array<int64_t, 1>& offsets) {
                    T& result = (*output)[offsets[0]];
                    result = combine(result, x[index]);
                  });
}

// OpSpec::evaluate of floats: finish(sum of term(x)) over the elements of each result.
// Errors: as ReductionOf; Unimplemented in GF(p).
template <typename Term, typename Finish>
absl::Status EvaluateFloatSum(const OpCall& call, EvalInputs inputs, EvalOutputs outputs, Term term,
                              Finish finish) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  const absl::StatusOr<Reduction> reduction = ReductionOf(call);
  if (!reduction.ok()) return reduction.status();
  Reduce(
      *reduction, *inputs[0], 0.0, [&](double sum, double x) { return sum + term(x); }, y);
  for (double& value : *y) value = finish(value);
  return absl::OkStatus();
}

}  // namespace plait
