#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

bool IsUnsigned(DataType dtype) {
  return dtype == DataType::kUint8 || dtype == DataType::kUint16 || dtype == DataType::kUint32 ||
         dtype == DataType::kUint64;
}

Types InferBitShift(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(call, TypeSet::kInteger));
  const std::string direction = call.attributes.String("direction", "");
  if (direction == "LEFT" || direction == "RIGHT") return types;
  return absl::InvalidArgumentError(
      absl::StrCat("direction must be LEFT or RIGHT, is '", direction, "'"));
}

// C++ leaves a shift by all bits or more undefined: only the sign is left of the number then, and
// only by shifts to the right. Narrower types lose what the caller cuts off.
absl::Status EvaluateBitShift(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const bool left = call.attributes.String("direction", "") == "LEFT";
  const DataType dtype = inputs[0]->type.dtype;
  const int64_t bits = 8 * BytesOf(dtype);
  if (IsUnsigned(dtype)) {
    elementwise_internal::Zip<uint64_t, int64_t>(*inputs[0], *inputs[1], &outputs[0],
                                                 [=](uint64_t x, uint64_t by) -> uint64_t {
                                                   if (by >= static_cast<uint64_t>(bits)) return 0;
                                                   return left ? x << by : x >> by;
                                                 });
    return absl::OkStatus();
  }
  elementwise_internal::Zip<int64_t, int64_t>(
      *inputs[0], *inputs[1], &outputs[0], [=](int64_t x, int64_t by) -> int64_t {
        if (by < 0 || by >= bits) return !left && x < 0 ? -1 : 0;
        return left ? static_cast<int64_t>(static_cast<uint64_t>(x) << by) : x >> by;
      });
  return absl::OkStatus();
}

absl::Status LowerBitShift(VersionedNode* node) {
  if (node->opset >= 28 || IsUnsigned(node->input_types[0].dtype)) return absl::OkStatus();
  return NeedsOpset("a shift of signed integers", 28);
}

}  // namespace

// y = a * 2^b, or a / 2^b rounded down; of signed integers since opset 28.
const OpSpec kBitShiftSpec = {
    .kind = OpKind::kBitShift,
    .since_opset = 11,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferBitShift,
    .evaluate = EvaluateBitShift,
    .lower = LowerBitShift,
};

}  // namespace plait
