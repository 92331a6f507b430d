#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the bits that are not set in x, an integer.
const OpSpec kBitwiseNotSpec = {
    .kind = OpKind::kBitwiseNot,
    .since_opset = 18,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kInteger>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          elementwise_internal::Map<int64_t>(std::get<std::vector<int64_t>>(inputs[0]->values),
                                             &outputs[0], [](int64_t x) { return ~x; });
          return absl::OkStatus();
        },
};

}  // namespace plait
