#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

Types InferLrn(const OpCall& call) {
  const TensorType& input = call.input_types[0];
  if (input.rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have channels and spatial axes, is ", input.ToString()));
  }
  const int64_t size = call.attributes.Int("size", 0);
  if (size < 1) return absl::InvalidArgumentError(absl::StrCat("size must be positive, is ", size));
  return InferUnary(call, TypeSet::kFloat);
}

// A multiply-add for each channel of the window, a power and a product.
Work WorkOfLrn(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const int64_t size = std::min(call.attributes.Int("size", 1), call.input_types[0].shape[1]);
  work.flops =
      SaturatingMultiply(output_types[0].elements(), SaturatingAdd(SaturatingMultiply(2, size), 3));
  return work;
}

absl::Status EvaluateLrn(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const int64_t size = call.attributes.Int("size", 1);
  const double alpha = call.attributes.Float("alpha", 1e-4f);
  const double beta = call.attributes.Float("beta", 0.75f);
  const double bias = call.attributes.Float("bias", 1.0f);
  const ChannelPlanes planes(inputs[0]->type);
  const int64_t channels = planes.channels;
  for (int64_t plane = 0; plane < planes.planes; ++plane) {
    const int64_t c = plane % channels;
    // Of an even number of channels one more lies behind. A window may be larger than all of them.
    const int64_t begin = c - std::min(c, (size - 1) / 2);
    const int64_t end = c + std::min(channels - 1 - c, size / 2) + 1;
    for (int64_t i = 0; i < planes.elements; ++i) {
      const double* const image = x.data() + (plane - c) * planes.elements + i;
      double sum = 0;
      for (int64_t other = begin; other < end; ++other) {
        const double value = image[other * planes.elements];
        sum += value * value;
      }
      (*y)[plane * planes.elements + i] =
          image[c * planes.elements] /
          std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
    }
  }
  return absl::OkStatus();
}

}  // namespace

// y[c] = x[c] / (bias + alpha / size * the sum of x^2 over `size` channels around c)^beta
// (Krizhevsky, Sutskever and Hinton, NeurIPS 2012).
const OpSpec kLRNSpec = {
    .kind = OpKind::kLRN,
    .infer = InferLrn,
    .work = WorkOfLrn,
    .evaluate = EvaluateLrn,
};

}  // namespace plait
