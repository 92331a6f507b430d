#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {

// What the Reduce operators share. Input 1, optional and constant, lists the axes; without it all
// are reduced, or none when noop_with_empty_axes is set.
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
absl::StatusOr<std::vector<TensorType>> InferReduce(const OpCall& call, TypeSet set);

// One operation per input element.
Work WorkOfReduce(const OpCall& call, absl::Span<const TensorType> output_types);

// OpSpec::raise and lower: up to `axes_opset` the axes were an attribute. Lowering fails with
// Unimplemented when nothing is reduced, which only newer opsets can say.
absl::Status RaiseReduce(VersionedNode* node, int axes_opset);
absl::Status LowerReduce(VersionedNode* node, int axes_opset);

// OpSpec::expand: an Identity when nothing is reduced.
// Errors: Unimplemented when something is.
absl::StatusOr<std::vector<TensorId>> ExpandReduce(const Node& node, GraphBuilder* builder);

// Sets each result to combine(... combine(combine(initial, x0), x1) ...) over its elements in
// order.
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

}  // namespace plait
