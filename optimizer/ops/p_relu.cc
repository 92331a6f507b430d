#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// The slope broadcasts to x, and not the other way around.
Types InferPRelu(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(call, TypeSet::kNumber));
  if (types[0] == call.input_types[0]) return types;
  return absl::InvalidArgumentError(
      absl::StrCat("the slope's shape ", ShapeToString(call.input_types[1].shape),
                   " must broadcast to ", ShapeToString(call.input_types[0].shape)));
}

template <typename Number>
Number Sloped(Number x, Number slope) {
  if constexpr (std::is_same_v<Number, int64_t>) {
    // Unsigned arithmetic wraps where signed arithmetic must not overflow.
    if (x < 0) return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(slope));
    return x;
  }
  return x < Number{} ? x * slope : x;
}

}  // namespace

// y = x for x >= 0, else slope * x (He et al., ICCV 2015), where the slope has one value per
// channel as a rule. Integers came with opset 9.
const OpSpec kPReluSpec = {
    .kind = OpKind::kPRelu,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferPRelu,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs,
                                      [](auto x, auto slope) { return Sloped(x, slope); });
        },
    .lower = [](VersionedNode* node) -> absl::Status {
      if (node->opset < 9 && IsInteger(node->input_types[0].dtype)) {
        return NeedsOpset("a slope of integers", 9);
      }
      return absl::OkStatus();
    },
};

}  // namespace plait
