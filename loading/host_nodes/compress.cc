#include <algorithm>

#include "base/status_macros.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<Tensor>> Compress(const Tensor& x, const Tensor& condition,
                                             std::optional<int64_t> given_axis) {
  if (condition.type().dtype != DataType::kBool || condition.type().rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition must be a vector of bools, is ", condition.type().ToString()));
  }
  // Without an axis the elements are one vector.
  TensorType type = x.type();
  if (!given_axis.has_value()) type.shape = {x.elements()};
  PLAIT_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(given_axis.value_or(0), type.rank()));
  const AroundAxis seen = SeenAround(type, axis);
  if (condition.elements() > seen.size) {
    return absl::InvalidArgumentError(absl::StrCat("the condition has ", condition.elements(),
                                                   " elements, the axis ", seen.size));
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < condition.elements(); ++i) {
    if (condition.bytes()[i] != 0) kept.push_back(i);
  }
  std::string bytes;
  bytes.reserve(seen.outer * kept.size() * seen.inner_bytes);
  for (int64_t outer = 0; outer < seen.outer; ++outer) {
    for (const int64_t index : kept) {
      const int64_t at = (outer * seen.size + index) * seen.inner_bytes;
      bytes.append(x.bytes().data() + at, static_cast<size_t>(seen.inner_bytes));
    }
  }
  type.shape[axis] = static_cast<int64_t>(kept.size());
  return std::vector<Tensor>{Tensor(type, std::move(bytes))};
}

}  // namespace

// The slices along an axis, or the elements of all, where the condition says so. A condition that
// is shorter than the axis leaves out what lies behind it.
absl::StatusOr<HostOperator> MakeCompress(const HostNode& node) {
  const std::optional<int64_t> axis = node.OptionalInteger("axis");
  return [axis](absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, 2));
    return Compress(inputs[0], inputs[1], axis);
  };
}

}  // namespace plait
