#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

const OpSpec kEqualSpec = {
    .kind = OpKind::kEqual,
    .since_opset = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferComparisonOf<TypeSet::kAny>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs, [](auto a, auto b) { return a == b; });
        },
    .lower = [](VersionedNode* node) -> absl::Status {
      if (node->opset < 11 && IsFloat(node->input_types[0].dtype)) {
        return NeedsOpset("a comparison of floats", 11);
      }
      return absl::OkStatus();
    },
};

}  // namespace plait
