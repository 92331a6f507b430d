#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr size_t kReversedLengths = 1;

// Of the first two axes one counts sequences, the other one their elements.
absl::StatusOr<int> TimeAxis(const OpCall& call) {
  const int64_t time = call.attributes.Int("time_axis", 0);
  const int64_t batch = call.attributes.Int("batch_axis", 1);
  const bool are_both = (time == 0 && batch == 1) || (time == 1 && batch == 0);
  if (are_both && call.input_types[0].rank() >= 2) return static_cast<int>(time);
  return absl::InvalidArgumentError(absl::StrCat(
      "needs the first two axes as time_axis and batch_axis, has ", time, " and ", batch));
}

absl::Status CheckLengths(absl::Span<const int64_t> lengths, int64_t dim) {
  for (const int64_t length : lengths) {
    if (length >= 0 && length <= dim) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a sequence of ", length, " elements on an axis of ", dim));
  }
  return absl::OkStatus();
}

Types InferReverseSequence(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kReversedLengths, TypeSet::kInteger));
  PLAIT_ASSIGN_OR_RETURN(const int time, TimeAxis(call));
  const Shape& shape = call.input_types[0].shape;
  if (call.input_types[kReversedLengths].shape != Shape{shape[1 - time]}) {
    return absl::InvalidArgumentError(absl::StrCat("needs ", shape[1 - time], " lengths, has ",
                                                   call.input_types[kReversedLengths].ToString()));
  }
  if (const Tensor* lengths = call.constant(kReversedLengths); lengths != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckLengths(lengths->AsInt64s(), shape[time]));
  }
  return std::vector<TensorType>{call.input_types[0]};
}

absl::Status EvaluateReverseSequence(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int time, TimeAxis(call));
  const Shape& shape = inputs[0]->type.shape;
  const auto& lengths = std::get<std::vector<int64_t>>(inputs[kReversedLengths]->values);
  PLAIT_RETURN_IF_ERROR(CheckLengths(lengths, shape[time]));
  if (inputs[0]->type.elements() == 0) return absl::OkStatus();
  const Shape strides = RowMajorStrides(shape);
  const int64_t inner = strides[1];
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    for (int64_t sequence = 0; sequence < shape[1 - time]; ++sequence) {
      for (int64_t i = 0; i < shape[time]; ++i) {
        const int64_t source = i < lengths[sequence] ? lengths[sequence] - 1 - i : i;
        const int64_t first = sequence * strides[1 - time];
        std::copy_n(from.begin() + first + source * strides[time], inner,
                    to.begin() + first + i * strides[time]);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

// y = x with the first lengths[b] elements of each sequence b in reverse order.
const OpSpec kReverseSequenceSpec = {
    .kind = OpKind::kReverseSequence,
    .since_opset = 10,
    .inputs = {2, 2},
    .infer = InferReverseSequence,
    .work = MovementWork,
    .evaluate = EvaluateReverseSequence,
};

}  // namespace plait
