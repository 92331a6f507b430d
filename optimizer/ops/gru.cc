#include <algorithm>
#include <vector>

#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/recurrent_layer.h"

namespace plait {
namespace {

Types InferGru(const OpCall& call) { return InferRecurrent(kGruKind, call); }

Work WorkOfGru(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfRecurrent(kGruKind, call, output_types);
}

// The candidate's product by R is either taken as it is and reset, or made of the reset state.
// The element's sum of the latter reads the whole state, so that the next one lies elsewhere.
void StepGru(const RecurrentRow& row) {
  const bool resets_product = row.attributes.Int("linear_before_reset", 0) != 0;
  const int64_t hidden = row.hidden;
  const auto gate = [&](int64_t index) {
    return row.Activate(0, row.input_products[index] + row.state_products[index]);
  };
  std::vector<double> reset(static_cast<size_t>(hidden));
  for (int64_t i = 0; i < hidden; ++i) reset[i] = gate(hidden + i);
  std::vector<double> next(reset.size());
  for (int64_t i = 0; i < hidden; ++i) {
    double product = 0;
    if (resets_product) {
      product = reset[i] * row.state_products[2 * hidden + i];
    } else {
      const double* const weights = row.weights + (2 * hidden + i) * hidden;
      for (int64_t k = 0; k < hidden; ++k) product += reset[k] * row.state[k] * weights[k];
      if (row.bias != nullptr) product += row.bias[2 * hidden + i];
    }
    const double candidate = row.Activate(1, row.input_products[2 * hidden + i] + product);
    const double update = gate(i);
    next[i] = (1 - update) * candidate + update * row.state[i];
  }
  std::copy(next.begin(), next.end(), row.state);
}

absl::Status EvaluateGru(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateRecurrent(kGruKind, call, inputs, outputs, StepGru);
}

}  // namespace

// h' = (1 - z) c + z h, with the gates z and r and the candidate c = g(x Wc^T + (r h) Rc^T + b), or
// with r applied to the product h Rc^T instead (Cho et al., EMNLP 2014).
const OpSpec kGRUSpec = {
    .kind = OpKind::kGRU,
    .inputs = {3, 6},
    .outputs = {1, 2},
    .infer = InferGru,
    .work = WorkOfGru,
    .evaluate = EvaluateGru,
    .lower = LowerRecurrent,
};

}  // namespace plait
