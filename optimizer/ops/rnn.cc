#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/recurrent_layer.h"

namespace plait {
namespace {

Types InferRnn(const OpCall& call) { return InferRecurrent(kRnnKind, call); }

Work WorkOfRnn(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfRecurrent(kRnnKind, call, output_types);
}

void StepRnn(const RecurrentRow& row) {
  for (int64_t i = 0; i < row.hidden; ++i) {
    row.state[i] = row.Activate(0, row.input_products[i] + row.state_products[i]);
  }
}

absl::Status EvaluateRnn(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateRecurrent(kRnnKind, call, inputs, outputs, StepRnn);
}

}  // namespace

// h' = f(x W^T + h R^T + b) (Elman, Finding Structure in Time, 1990).
const OpSpec kRNNSpec = {
    .kind = OpKind::kRNN,
    .inputs = {3, 6},
    .outputs = {1, 2},
    .infer = InferRnn,
    .work = WorkOfRnn,
    .evaluate = EvaluateRnn,
    .lower = LowerRecurrent,
};

}  // namespace plait
