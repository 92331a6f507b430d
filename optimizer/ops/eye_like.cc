#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types InferEyeLike(const OpCall& call) {
  const TensorType& input = call.input_types[0];
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  if (input.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must be a matrix, is ", input.ToString()));
  }
  const int64_t dtype = call.attributes.Int("dtype", static_cast<int64_t>(input.dtype));
  if (dtype <= 0 || dtype > static_cast<int64_t>(DataType::kBfloat16) ||
      !Contains(TypeSet::kAny, static_cast<DataType>(dtype))) {
    return absl::UnimplementedError(absl::StrCat("plait cannot compute with element type ", dtype));
  }
  return std::vector<TensorType>{{static_cast<DataType>(dtype), input.shape}};
}

// Calls visit(index) for each element of the diagonal, which a large k moves outside.
template <typename Visit>
void ForEachOne(const Shape& shape, int64_t k, Visit visit) {
  const int64_t rows = shape[0];
  const int64_t columns = shape[1];
  if (k >= columns || k <= -rows) return;
  for (int64_t row = std::max<int64_t>(0, -k); row < std::min(rows, columns - k); ++row) {
    visit(row * columns + row + k);
  }
}

absl::Status EvaluateEyeLike(const OpCall& call, EvalInputs, EvalOutputs outputs) {
  std::visit(
      [&]<typename T>(std::vector<T>& y) {
        ForEachOne(outputs[0].type.shape, call.attributes.Int("k", 0),
                   [&](int64_t index) { y[index] = T(1); });
      },
      outputs[0].values);
  return absl::OkStatus();
}

// Shapes are known, and so is the matrix.
absl::StatusOr<std::vector<TensorId>> ExpandEyeLike(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  TensorType type = expansion.type(node.inputs[0]);
  type.dtype =
      static_cast<DataType>(node.attributes->Int("dtype", static_cast<int64_t>(type.dtype)));
  std::vector<double> values(static_cast<size_t>(type.elements()), 0.0);
  ForEachOne(type.shape, node.attributes->Int("k", 0), [&](int64_t index) { values[index] = 1; });
  const TensorId matrix = expansion.Constant(Tensor::FromDoubles(type, values));
  return expansion.Outputs({expansion.Add(OpKind::kIdentity, {matrix})});
}

// Larger matrices would make the model large.
bool IsSmall(const OpCall& call) { return call.input_types[0].elements() <= 65'536; }

}  // namespace

// y = a matrix of the input's shape with ones on diagonal k, 0 being the main one.
const OpSpec kEyeLikeSpec = {
    .kind = OpKind::kEyeLike,
    .since_opset = 9,
    .infer = InferEyeLike,
    .work = FillWork,
    .evaluate = EvaluateEyeLike,
    .expand = ExpandEyeLike,
    .expands_at_import = IsSmall,
};

}  // namespace plait
