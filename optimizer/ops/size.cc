#include "base/status_macros.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {

// y = how many elements x has, as an int64 scalar. Like Shape, it looks at types only.
const OpSpec kSizeSpec = {
    .kind = OpKind::kSize,
    .infer = [](const OpCall& call) -> Types {
      PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
      return std::vector<TensorType>{{DataType::kInt64, {}}};
    },
    .work = NoWork,
    .evaluate = [](const OpCall& call, EvalInputs, EvalOutputs outputs) -> absl::Status {
      outputs[0].values = std::vector<int64_t>{call.input_types[0].elements()};
      return absl::OkStatus();
    },
};

}  // namespace plait
