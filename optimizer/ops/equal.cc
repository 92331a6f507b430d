#include "optimizer/ops/shared/comparison.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

// y = a == b; false where either is NaN. Floats came with opset 11, so that an older one needs
// another form.
const OpSpec kEqualSpec = {
    .kind = OpKind::kEqual,
    .inputs = {2, 2},
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferComparisonOf<TypeSet::kAny>,
    .evaluate = EvaluateComparison<std::equal_to<>>,
    .lower = [](VersionedNode* node) -> absl::Status {
      if (node->opset < 11 && IsFloat(node->input_types[0].dtype)) {
        return NeedsOpset("a comparison of floats", 11);
      }
      return absl::OkStatus();
    },
};

}  // namespace plait
