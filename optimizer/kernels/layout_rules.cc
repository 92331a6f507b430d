#include "optimizer/kernels/layout_rules.h"

namespace plait {

Layout EffectiveLayout(const TensorType& type, Layout wanted) {
  if (wanted == Layout::kPlain || type.rank() != 4) return Layout::kPlain;
  const bool one_pixel = type.shape[2] * type.shape[3] == 1;
  return one_pixel || type.shape[1] == 1 ? Layout::kPlain : Layout::kChannelsLast;
}

Shape StridesOf(const TensorType& type, Layout layout) {
  Shape strides(type.shape.size(), 1);
  if (layout == Layout::kChannelsLast && type.rank() == 4) {
    const Shape& shape = type.shape;
    strides = {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
    return strides;
  }
  for (int i = type.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * type.shape[i + 1];
  return strides;
}

}  // namespace plait
