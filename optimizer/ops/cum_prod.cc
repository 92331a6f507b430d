#include "optimizer/ops/shared/cumulation.h"

namespace plait {

// y[i] = the product of x[0] to x[i] along the axis; to x[i-1] when exclusive; from the other end
// when reverse. Products only, so that it is exact in GF(p).
const OpSpec kCumProdSpec = {
    .kind = OpKind::kCumProd,
    .since_opset = 26,
    .inputs = {2, 2},
    .infer = InferCumulation,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateCumulation(call, inputs, outputs, 1, [](auto a, auto b) { return a * b; });
        },
};

}  // namespace plait
