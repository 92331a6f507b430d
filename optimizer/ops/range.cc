#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kStart = 0;
constexpr size_t kLimit = 1;
constexpr size_t kDelta = 2;

absl::Status TooLong() {
  return absl::InvalidArgumentError(
      absl::StrCat("must have at most ", kTensorElementsMax, " elements"));
}

// How many steps of `delta` lead from start to limit, rounded up: 0, 3, 6 for a limit of 7. In 128
// bits, because a limit minus a start may not fit into 64.
absl::StatusOr<int64_t> IntegerCount(const OpCall& call) {
  const __int128 start = call.constant(kStart)->AsInt64s()[0];
  const __int128 limit = call.constant(kLimit)->AsInt64s()[0];
  const __int128 delta = call.constant(kDelta)->AsInt64s()[0];
  if (delta == 0) return absl::InvalidArgumentError("delta must not be 0");
  const __int128 way = delta > 0 ? limit - start : start - limit;
  const __int128 step = delta > 0 ? delta : -delta;
  if (way <= 0) return 0;
  const __int128 count = (way - 1) / step + 1;
  if (count > kTensorElementsMax) return TooLong();
  return static_cast<int64_t>(count);
}

absl::StatusOr<int64_t> FloatCount(const OpCall& call) {
  const double start = call.constant(kStart)->AsDoubles()[0];
  const double limit = call.constant(kLimit)->AsDoubles()[0];
  const double delta = call.constant(kDelta)->AsDoubles()[0];
  if (delta == 0) return absl::InvalidArgumentError("delta must not be 0");
  // The distance is rounded as the element type rounds it, which decides the count when the
  // quotient is close to an integer. 16-bit floats are computed in float32 (stash_type).
  const bool is_double = call.input_types[kStart].dtype == DataType::kFloat64;
  const double way = is_double ? limit - start : static_cast<float>(limit - start);
  const double count = std::ceil(way / delta);
  if (!std::isfinite(start) || !std::isfinite(limit) || count != count) {
    return absl::InvalidArgumentError("start, limit and delta must be finite");
  }
  if (count <= 0) return 0;
  if (count > static_cast<double>(kTensorElementsMax)) return TooLong();
  return static_cast<int64_t>(count);
}

Types InferRange(const OpCall& call) {
  for (size_t i = kStart; i <= kDelta; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kNumber));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
    if (call.input_types[i].elements() != 1) {
      return absl::InvalidArgumentError("start, limit and delta must be scalars");
    }
    if (call.constant(i) == nullptr) {
      return absl::UnimplementedError("start, limit and delta must be small constants");
    }
  }
  const DataType dtype = call.input_types[kStart].dtype;
  PLAIT_ASSIGN_OR_RETURN(const int64_t count,
                         IsFloat(dtype) ? FloatCount(call) : IntegerCount(call));
  return std::vector<TensorType>{{dtype, {count}}};
}

absl::Status EvaluateRange(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  return std::visit(
      [&](const auto& starts) {
        using Values = std::decay_t<decltype(starts)>;
        using Value = typename Values::value_type;
        using Number = std::conditional_t<std::is_same_v<Value, int64_t>, uint64_t, Value>;
        const Number start = static_cast<Number>(starts[0]);
        const Number delta = static_cast<Number>(std::get<Values>(inputs[kDelta]->values)[0]);
        Values values(static_cast<size_t>(outputs[0].type.elements()));
        for (size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<Value>(start + static_cast<Number>(i) * delta);
        }
        outputs[0].values = std::move(values);
        return absl::OkStatus();
      },
      inputs[kStart]->values);
}

// Opset 27 added 16-bit floats and stash_type, which other types ignore.
absl::Status LowerRange(VersionedNode* node) {
  if (node->opset >= 27) return absl::OkStatus();
  const DataType dtype = node->input_types[kStart].dtype;
  if (dtype == DataType::kFloat16 || dtype == DataType::kBfloat16) {
    return NeedsOpset("a range of 16-bit floats", 27);
  }
  node->attributes.Erase("stash_type");
  return absl::OkStatus();
}

}  // namespace

// y[i] = start + i * delta, as long as it has not reached the limit. Its shape depends on values,
// so that these must be constants.
const OpSpec kRangeSpec = {
    .kind = OpKind::kRange,
    .since_opset = 11,
    .inputs = {3, 3},
    .infer = InferRange,
    .work = FillWork,
    .evaluate = EvaluateRange,
    .lower = LowerRange,
};

}  // namespace plait
