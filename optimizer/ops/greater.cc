#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

const OpSpec kGreaterSpec = {
    .kind = OpKind::kGreater,
    .since_opset = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseBinary,
    .infer = InferComparisonOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs, [](auto a, auto b) { return a > b; });
        },
    .lower = [](VersionedNode* node) -> absl::Status {
      if (node->opset < 9 && IsInteger(node->input_types[0].dtype)) {
        return NeedsOpset("an order of integers", 9);
      }
      return absl::OkStatus();
    },
};

}  // namespace plait
