#include "gpu_worker/backends/cuda/run/host_layout.h"

#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait::cuda {

namespace {

// Only images lie in more than one way: [n, c, h, w], or [n, h, w, c].
std::string LaidOut(absl::string_view bytes, const TensorType& type, const Shape& source,
                    const Shape& target) {
  std::string moved(bytes);
  const auto element = static_cast<size_t>(BytesOf(type.dtype));
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

// Floats of one precision's storage as another one has them.
std::string Cast(absl::string_view bytes, Precision from, Precision to) {
  const std::vector<float> values =
      FromStorage(reinterpret_cast<const std::byte*>(bytes.data()),
                  bytes.size() / static_cast<size_t>(ElementBytes(from)), from);
  const std::vector<std::byte> stored = ToStorage(values, to);
  return std::string(reinterpret_cast<const char*>(stored.data()), stored.size());
}

}  // namespace

std::string Reformat(absl::string_view bytes, const TensorType& type, Format from, Format to) {
  std::string stored(bytes);
  const Precision source = PrecisionOfStorage(from, type), target = PrecisionOfStorage(to, type);
  if (source != target) stored = Cast(bytes, source, target);
  const Format lies = EffectiveFormat(type, StoredAs(DataType::kFloat32, from));
  const Format wanted = EffectiveFormat(type, StoredAs(DataType::kFloat32, to));
  if (lies == wanted) return stored;
  return LaidOut(stored, StoredType(type, to), StridesOf(type, lies), StridesOf(type, wanted));
}

absl::StatusOr<std::string> PackConstant(const OperandValue& operand, const WeightSource& weights) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor value, EvaluateConstant(*operand.constant, weights));
  return Reformat(value.bytes(), value.type(), Format::kPlain, operand.format);
}

}  // namespace plait::cuda
