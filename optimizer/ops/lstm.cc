#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/recurrent_layer.h"

namespace plait {
namespace {

Types InferLstm(const OpCall& call) { return InferRecurrent(kLstmKind, call); }

Work WorkOfLstm(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfRecurrent(kLstmKind, call, output_types);
}

// Gates lie in the order input, output, forget, candidate; peepholes in that of the first three.
void StepLstm(const RecurrentRow& row) {
  const bool couples_gates = row.attributes.Int("input_forget", 0) != 0;
  const int64_t hidden = row.hidden;
  for (int64_t i = 0; i < hidden; ++i) {
    const auto sum = [&](int64_t gate, double cell) {
      const int64_t index = gate * hidden + i;
      const double peephole =
          row.peepholes == nullptr || gate == 3 ? 0 : row.peepholes[index] * cell;
      return row.input_products[index] + row.state_products[index] + peephole;
    };
    const double input = row.Activate(0, sum(0, row.cell[i]));
    const double forget = couples_gates ? 1 - input : row.Activate(0, sum(2, row.cell[i]));
    const double candidate = row.Activate(1, sum(3, 0));
    row.cell[i] = forget * row.cell[i] + input * candidate;
    const double output = row.Activate(0, sum(1, row.cell[i]));
    row.state[i] = output * row.Activate(2, row.cell[i]);
  }
}

absl::Status EvaluateLstm(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateRecurrent(kLstmKind, call, inputs, outputs, StepLstm);
}

}  // namespace

// c' = f c + i g(x Wc^T + h Rc^T + b) and h' = o h(c'), with the gates i, f and o, which may look
// at the cell too (Hochreiter and Schmidhuber, 1997; Gers and Schmidhuber, IJCNN 2000).
const OpSpec kLSTMSpec = {
    .kind = OpKind::kLSTM,
    .inputs = {3, 8},
    .outputs = {1, 3},
    .infer = InferLstm,
    .work = WorkOfLstm,
    .evaluate = EvaluateLstm,
    .lower = LowerRecurrent,
};

}  // namespace plait
