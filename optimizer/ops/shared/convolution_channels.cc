#include "optimizer/ops/shared/convolution_channels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

absl::StatusOr<int64_t> ResultChannels(const OpCall& call, WeightOrder order) {
  const TensorType& input = call.input_types[0];
  const TensorType& weights = call.input_types[1];
  if (input.rank() < 3 || weights.rank() != input.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("input ", input.ToString(), " and weights ",
                                                   weights.ToString(),
                                                   " must have one rank, at least 3"));
  }
  if (input.rank() > 5) {
    return absl::UnimplementedError("more than three spatial axes are not implemented");
  }
  const int64_t group = call.attributes.Int("group", 1);
  int64_t channels = weights.shape[0];
  int64_t input_channels = SaturatingMultiply(weights.shape[1], group);
  if (order == WeightOrder::kInputFirst) std::swap(channels, input_channels);
  if (group < 1 || weights.shape[0] % group != 0 || input_channels != input.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat("group ", group,
                                                   " does not divide the channels of ",
                                                   input.ToString(), " and ", weights.ToString()));
  }
  const std::vector<int64_t> kernel = call.attributes.Ints("kernel_shape");
  if (!kernel.empty() &&
      !std::equal(kernel.begin(), kernel.end(), weights.shape.begin() + 2, weights.shape.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_shape differs from the weights ", weights.ToString()));
  }
  if (call.has_input(2) && call.input_types[2].shape != Shape{channels}) {
    return absl::InvalidArgumentError(absl::StrCat("the bias must have shape [", channels, "], is ",
                                                   call.input_types[2].ToString()));
  }
  return channels;
}

}  // namespace plait
