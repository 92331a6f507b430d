#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

bool IsUnsigned(DataType dtype) {
  return dtype == DataType::kUint8 || dtype == DataType::kUint16 || dtype == DataType::kUint32 ||
         dtype == DataType::kUint64;
}

Types Infer(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(call, TypeSet::kInteger));
  if (!IsUnsigned(types[0].dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs must be unsigned, are ", DataTypeName(types[0].dtype)));
  }
  const std::string direction = call.attributes.String("direction", "");
  if (direction == "LEFT" || direction == "RIGHT") return types;
  return absl::InvalidArgumentError(
      absl::StrCat("direction must be LEFT or RIGHT, is '", direction, "'"));
}

// C++ leaves a shift by all bits or more undefined; here nothing is left of the number then.
// Narrower types lose what the caller cuts off.
absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const bool left = call.attributes.String("direction", "") == "LEFT";
  elementwise_internal::Zip<uint64_t, int64_t>(*inputs[0], *inputs[1], &outputs[0],
                                               [left](uint64_t x, uint64_t by) -> uint64_t {
                                                 if (by >= 64) return 0;
                                                 return left ? x << by : x >> by;
                                               });
  return absl::OkStatus();
}

}  // namespace

// y = a * 2^b, or a / 2^b rounded down, of unsigned integers.
const OpSpec kBitShiftSpec = {
    .kind = OpKind::kBitShift,
    .since_opset = 11,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = Infer,
    .evaluate = Evaluate,
};

}  // namespace plait
