#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

absl::StatusOr<int> Axis(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> axis, ConstantInts(call, 1));
  if (axis.size() != 1) return absl::InvalidArgumentError("the axis must be a scalar");
  return NormalizeAxis(axis[0], call.input_types[0].rank());
}

Types Infer(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_RETURN_IF_ERROR(Axis(call).status());
  return std::vector<TensorType>{call.input_types[0]};
}

// One line of `count` elements, `step` apart; `exclusive` sums stop before the element itself.
// `Number` is what is added: unsigned for integers, whose sums wrap.
template <typename Number, typename Value>
void SumLine(const Value* from, Value* to, int64_t count, int64_t step, bool exclusive) {
  Number sum{};
  for (int64_t i = 0; i < count; ++i) {
    const Number before = sum;
    sum = sum + static_cast<Number>(from[i * step]);
    to[i * step] = static_cast<Value>(exclusive ? before : sum);
  }
}

absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  if (outputs[0].type.elements() == 0) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const int axis, Axis(call));
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
        SumLine<Number>(&from[first], &to[first], count, reverse ? -stride : stride, exclusive);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

// y[i] = the sum of x[0] to x[i] along the axis; to x[i-1] when exclusive; from the other end when
// reverse. Sums only, so that it is exact in GF(p).
const OpSpec kCumSumSpec = {
    .kind = OpKind::kCumSum,
    .since_opset = 11,
    .inputs = {2, 2},
    .infer = Infer,
    .evaluate = Evaluate,
};

}  // namespace plait
