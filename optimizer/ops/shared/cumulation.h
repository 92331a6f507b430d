#pragma once

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"

// What CumSum and CumProd share: each element becomes the combination of those up to it along an
// axis, which is a constant input.
namespace plait {

// The axis. Errors: Unimplemented when it is not constant; InvalidArgument when it is no axis.
absl::StatusOr<int> CumulationAxis(const OpCall& call);

// OpSpec::infer. Errors: as CumulationAxis; InvalidArgument for elements that are no numbers.
Types InferCumulation(const OpCall& call);

// One line of `count` elements, `step` apart; exclusive results stop before the element itself.
// `Number` is what is combined: unsigned for integers, which wrap.
template <typename Number, typename Value, typename Combine>
void CumulateLine(const Value* from, Value* to, int64_t count, int64_t step, bool exclusive,
                  Number result, Combine combine) {
  for (int64_t i = 0; i < count; ++i) {
    const Number before = result;
    result = combine(result, static_cast<Number>(from[i * step]));
    to[i * step] = static_cast<Value>(exclusive ? before : result);
  }
}

// OpSpec::evaluate: combine(... combine(initial, x0), x1) ..., from the other end when reverse.
template <typename Combine>
absl::Status EvaluateCumulation(const OpCall& call, EvalInputs inputs, EvalOutputs outputs,
                                int initial, Combine combine) {
  if (outputs[0].type.elements() == 0) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const int axis, CumulationAxis(call));
  const bool exclusive = call.attributes.Int("exclusive", 0) != 0;
  const bool reverse = call.attributes.Int("reverse", 0) != 0;
  const Shape& shape = inputs[0]->type.shape;
  const int64_t count = shape[axis];
  const int64_t stride = RowMajorStrides(shape)[axis];
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    using Value = typename std::decay_t<decltype(from)>::value_type;
    using Number = std::conditional_t<std::is_same_v<Value, int64_t>, uint64_t, Value>;
    const int64_t elements = static_cast<int64_t>(from.size());
    for (int64_t block = 0; block < elements; block += count * stride) {
      for (int64_t i = 0; i < stride; ++i) {
        const int64_t first = block + i + (reverse ? (count - 1) * stride : 0);
        CumulateLine<Number>(&from[first], &to[first], count, reverse ? -stride : stride, exclusive,
                             Number(initial), combine);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace plait
