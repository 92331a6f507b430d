#include "optimizer/ops/shared/cumulation.h"

#include "optimizer/ops/shared/type_set.h"

namespace plait {

absl::StatusOr<int> CumulationAxis(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> axis, ConstantInts(call, 1));
  if (axis.size() != 1) return absl::InvalidArgumentError("the axis must be a scalar");
  return NormalizeAxis(axis[0], call.input_types[0].rank());
}

Types InferCumulation(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_RETURN_IF_ERROR(CumulationAxis(call).status());
  return std::vector<TensorType>{call.input_types[0]};
}

}  // namespace plait
