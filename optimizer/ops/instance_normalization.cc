#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/mean_variance.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// As BatchNormalization, but the statistics are the image's own, so that there must be something to
// take them of.
Types InferInstanceNormalization(const OpCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  const TensorType& input = call.input_types[0];
  if (input.rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have spatial axes, is ", input.ToString()));
  }
  for (size_t i = 1; i < 3; ++i) {
    if (call.input_types[i].shape == Shape{input.shape[1]}) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have shape [",
                                                   input.shape[1], "], is ",
                                                   call.input_types[i].ToString()));
  }
  return std::vector<TensorType>{input};
}

Work WorkOfInstanceNormalization(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  // Sum, deviation, square and its sum, scale and bias.
  work.flops *= 6;
  return work;
}

absl::Status EvaluateInstanceNormalization(const OpCall& call, EvalInputs inputs,
                                           EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no square root");
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const auto& scale = std::get<std::vector<double>>(inputs[1]->values);
  const auto& bias = std::get<std::vector<double>>(inputs[2]->values);
  const double epsilon = call.attributes.Float("epsilon", 1e-5f);
  const ChannelPlanes planes(inputs[0]->type);
  for (int64_t plane = 0; plane < planes.planes; ++plane) {
    const int64_t c = plane % planes.channels;
    const int64_t first = plane * planes.elements;
    const MeanVariance statistics(x.data() + first, planes.elements);
    const double factor = scale[c] / std::sqrt(statistics.variance + epsilon);
    for (int64_t i = first; i < first + planes.elements; ++i) {
      (*y)[i] = (x[i] - statistics.mean) * factor + bias[c];
    }
  }
  return absl::OkStatus();
}

}  // namespace

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the statistics of each image's
// channel.
const OpSpec kInstanceNormalizationSpec = {
    .kind = OpKind::kInstanceNormalization,
    .inputs = {3, 3},
    .infer = InferInstanceNormalization,
    .work = WorkOfInstanceNormalization,
    .evaluate = EvaluateInstanceNormalization,
};

}  // namespace plait
