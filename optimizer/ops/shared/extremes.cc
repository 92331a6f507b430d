#include "optimizer/ops/shared/extremes.h"

namespace plait {

Types InferReduceExtreme(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  if (reduction.count == 0 && !IsFloat(call.input_types[0].dtype)) {
    return absl::UnimplementedError("the bound of no integers at all is not implemented");
  }
  return InferReduce(call, TypeSet::kAny);
}

}  // namespace plait
