#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr size_t kDiagonal = 1;

Types InferTrilu(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  if (call.input_types[0].rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs a matrix, has shape ", ShapeToString(call.input_types[0].shape)));
  }
  if (call.has_input(kDiagonal)) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, kDiagonal, TypeSet::kInteger));
    if (call.input_types[kDiagonal].elements() != 1) {
      return absl::InvalidArgumentError("the diagonal must be a scalar");
    }
  }
  return std::vector<TensorType>{call.input_types[0]};
}

absl::Status EvaluateTrilu(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const Shape& shape = inputs[0]->type.shape;
  const int64_t rows = shape[shape.size() - 2];
  const int64_t columns = shape[shape.size() - 1];
  const bool upper = call.attributes.Int("upper", 1) != 0;
  int64_t diagonal = 0;
  if (call.has_input(kDiagonal)) {
    diagonal = std::get<std::vector<int64_t>>(inputs[kDiagonal]->values)[0];
  }
  // Farther diagonals keep all or nothing, as these do.
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    for (int64_t index = 0; index < static_cast<int64_t>(from.size()); ++index) {
      const int64_t column = index % columns;
      const int64_t row = index / columns % rows;
      const bool keep = upper ? column - row >= diagonal : column - row <= diagonal;
      if (keep) to[index] = from[index];
    }
  });
  return absl::OkStatus();
}

}  // namespace

// y = x with zeros below a diagonal (upper) or above it, in each matrix of the last two axes.
// Diagonal k begins k columns to the right of the first.
const OpSpec kTriluSpec = {
    .kind = OpKind::kTrilu,
    .since_opset = 14,
    .inputs = {1, 2},
    .infer = InferTrilu,
    .work = MovementWork,
    .evaluate = EvaluateTrilu,
};

}  // namespace plait
