#include "gpu_worker/backends/cuda/run/host_layout.h"

#include <cstring>

#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait::cuda {

// Only images lie in more than one way: [n, c, h, w], or [n, h, w, c].
std::string Reformat(absl::string_view bytes, const TensorType& type, Format from, Format to) {
  std::string moved(bytes);
  if (EffectiveFormat(type, from) == EffectiveFormat(type, to)) return moved;
  const auto element = static_cast<size_t>(BytesOf(type.dtype));
  const Shape source = StridesOf(type, from), target = StridesOf(type, to);
  for (int64_t n = 0; n < type.shape[0]; ++n) {
    for (int64_t c = 0; c < type.shape[1]; ++c) {
      for (int64_t h = 0; h < type.shape[2]; ++h) {
        for (int64_t w = 0; w < type.shape[3]; ++w) {
          const auto place = [&](const Shape& strides) {
            return element * static_cast<size_t>(n * strides[0] + c * strides[1] + h * strides[2] +
                                                 w * strides[3]);
          };
          std::memcpy(moved.data() + place(target), bytes.data() + place(source), element);
        }
      }
    }
  }
  return moved;
}

absl::StatusOr<std::string> PackConstant(const OperandValue& operand, const WeightSource& weights) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor value, EvaluateConstant(*operand.constant, weights));
  return Reformat(value.bytes(), value.type(), Format::kPlain, operand.format);
}

}  // namespace plait::cuda
