#include "base/status_macros.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {

const OpSpec kSizeSpec = {
    .kind = OpKind::kSize,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
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
