#include "optimizer/ops/shared/window_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

// A pad as large as the span would make windows that begin or end beside the input.
absl::StatusOr<std::vector<WindowAxis>> ReadPoolWindow(const OpCall& call) {
  const TensorType& input = call.input_types[0];
  if (input.rank() > 5) {
    return absl::UnimplementedError("more than three spatial axes are not implemented");
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<WindowAxis> window,
                         ReadWindow(call.attributes, input, call.attributes.Ints("kernel_shape"),
                                    call.attributes.Int("ceil_mode", 0) != 0));
  for (const WindowAxis& axis : window) {
    if (std::max(axis.pad_begin, axis.pad_end) >= axis.span()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pads must be smaller than the kernel's span of ", axis.span(), ", are ",
                       axis.pad_begin, " and ", axis.pad_end));
    }
  }
  return window;
}

absl::StatusOr<TensorType> PooledType(const OpCall& call, const std::vector<WindowAxis>& window) {
  const TensorType& input = call.input_types[0];
  Shape shape = {input.shape[0], input.shape[1]};
  for (const WindowAxis& axis : window) shape.push_back(axis.output);
  return CheckedType(input.dtype, std::move(shape));
}

Work WorkOfPool(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops = output_types[0].elements();
  for (int64_t extent : call.attributes.Ints("kernel_shape")) {
    work.flops = SaturatingMultiply(work.flops, extent);
  }
  return work;
}

absl::Status LowerPool(VersionedNode* node, int dilations_opset) {
  const std::vector<int64_t> dilations = node->attributes.Ints("dilations");
  const bool dilated =
      std::any_of(dilations.begin(), dilations.end(), [](int64_t value) { return value != 1; });
  const bool ceil_mode = node->attributes.Int("ceil_mode", 0) != 0;
  if ((dilated && node->opset < dilations_opset) || (ceil_mode && node->opset < 10)) {
    return absl::UnimplementedError(
        absl::StrCat("opset ", node->opset, " has no ", dilated ? "dilations" : "ceil_mode"));
  }
  if (node->opset < dilations_opset) node->attributes.Erase("dilations");
  if (node->opset < 10) node->attributes.Erase("ceil_mode");
  return absl::OkStatus();
}

}  // namespace plait
