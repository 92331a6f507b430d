#include "optimizer/ops/shared/global_pool.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {

// A mean or maximum over no elements has no value.
Types InferGlobalPool(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  TensorType type = call.input_types[0];
  if (type.rank() < 3 || ChannelPlanes(type).elements == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have spatial axes with elements, is ", type.ToString()));
  }
  for (int i = 2; i < type.rank(); ++i) type.shape[i] = 1;
  return std::vector<TensorType>{std::move(type)};
}

Work WorkOfGlobalPool(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops = call.input_types[0].elements();
  return work;
}

}  // namespace plait
