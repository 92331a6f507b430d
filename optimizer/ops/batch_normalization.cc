#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// Inputs are x, scale, bias, mean and variance; all but x have one value per channel. Parameters
// may be wider than x since opset 15.
Types InferBatchNormalization(const OpCall& call) {
  for (size_t i = 0; i < 5; ++i) PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
  if (call.attributes.Int("training_mode", 0) != 0 || call.output_count > 1) {
    return absl::UnimplementedError("training mode is not implemented");
  }
  const TensorType& input = call.input_types[0];
  if (input.rank() < 2) {
    return absl::UnimplementedError("an input without a channel axis is not implemented");
  }
  for (size_t i = 1; i < 5; ++i) {
    if (call.input_types[i].shape == Shape{input.shape[1]}) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have shape [",
                                                   input.shape[1], "], is ",
                                                   call.input_types[i].ToString()));
  }
  return std::vector<TensorType>{input};
}

Work WorkOfBatchNormalization(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  // The factors of a channel are computed once; an element costs a multiplication and an addition.
  work.flops *= 2;
  return work;
}

absl::Status EvaluateBatchNormalization(const OpCall& call, EvalInputs inputs,
                                        EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no square root");
  std::array<const std::vector<double>*, 5> in;
  for (size_t i = 0; i < 5; ++i) in[i] = &std::get<std::vector<double>>(inputs[i]->values);
  const auto& [x, scale, bias, mean, variance] = in;
  const double epsilon = call.attributes.Float("epsilon", 1e-5f);
  const ChannelPlanes planes(inputs[0]->type);
  for (int64_t plane = 0; plane < planes.planes; ++plane) {
    const int64_t c = plane % planes.channels;
    const double factor = (*scale)[c] / std::sqrt((*variance)[c] + epsilon);
    for (int64_t i = plane * planes.elements; i < (plane + 1) * planes.elements; ++i) {
      (*y)[i] = ((*x)[i] - (*mean)[c]) * factor + (*bias)[c];
    }
  }
  return absl::OkStatus();
}

// Opset 7 and 8 could normalize every element by itself; up to opset 13 further outputs meant
// training.
absl::Status RaiseBatchNormalization(VersionedNode* node) {
  if (node->attributes.Int("spatial", 1) == 0) {
    return absl::UnimplementedError("spatial=0 has no form in newer opsets");
  }
  node->attributes.Erase("spatial");
  if (node->opset < 14 && node->output_count > 1) {
    return absl::UnimplementedError("training mode is not implemented");
  }
  return absl::OkStatus();
}

absl::Status LowerBatchNormalization(VersionedNode* node) {
  if (node->opset < 14) node->attributes.Erase("training_mode");
  return absl::OkStatus();
}

}  // namespace

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, per channel (Ioffe and Szegedy, ICML
// 2015, Algorithm 2).
const OpSpec kBatchNormalizationSpec = {
    .kind = OpKind::kBatchNormalization,
    .inputs = {5, 5},
    .outputs = {1, 5},
    .infer = InferBatchNormalization,
    .work = WorkOfBatchNormalization,
    .evaluate = EvaluateBatchNormalization,
    .raise = RaiseBatchNormalization,
    .lower = LowerBatchNormalization,
};

}  // namespace plait
