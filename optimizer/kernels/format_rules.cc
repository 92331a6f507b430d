#include "optimizer/kernels/format_rules.h"

namespace plait {

Format EffectiveFormat(const TensorType& type, Format wanted) {
  if (wanted == Format::kPlain || type.rank() != 4) return Format::kPlain;
  const bool one_pixel = type.shape[2] * type.shape[3] == 1;
  return one_pixel || type.shape[1] == 1 ? Format::kPlain : Format::kChannelsLast;
}

Shape StridesOf(const TensorType& type, Format format) {
  Shape strides(type.shape.size(), 1);
  if (format == Format::kChannelsLast && type.rank() == 4) {
    const Shape& shape = type.shape;
    strides = {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
    return strides;
  }
  for (int i = type.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * type.shape[i + 1];
  return strides;
}

}  // namespace plait
