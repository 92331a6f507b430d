#include "gpu_worker/executor/hard_layers.h"

#include <cstring>
#include <vector>

namespace plait {
namespace {

std::vector<float> FloatsOf(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes().data(), tensor.bytes().size());
  return values;
}

}  // namespace

Tensor AroundHundred(const Tensor& values) {
  std::vector<float> moved = FloatsOf(values);
  for (float& value : moved) value += 100;
  return Tensor::Of<float>(values.type().shape, moved);
}

Tensor WithOutlier(const Tensor& values, int64_t element) {
  std::vector<float> changed = FloatsOf(values);
  changed[element] = 10'000;
  return Tensor::Of<float>(values.type().shape, changed);
}

Tensor Cancelling(const LayerOperands& layer, const Tensor& weights) {
  std::vector<float> values = FloatsOf(weights);
  const int64_t matrix = layer.terms() * layer.channels();
  for (int64_t first = 0; first < weights.elements(); first += matrix) {
    for (int64_t k = 0; k < layer.terms(); ++k) {
      for (int64_t channel = 0; channel < layer.channels(); ++channel) {
        const int64_t element =
            first + k * layer.right_term_stride() + channel * layer.right_channel_stride();
        const bool is_first = k % 2 == 0;
        if (is_first && k + 1 == layer.terms()) values[element] = 0;
        if (!is_first) values[element] = -values[element - layer.right_term_stride()];
      }
    }
  }
  return Tensor::Of<float>(weights.type().shape, values);
}

}  // namespace plait
