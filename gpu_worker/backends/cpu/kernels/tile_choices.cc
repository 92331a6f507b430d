#include "gpu_worker/backends/cpu/kernels/tile_choices.h"

namespace plait {

std::optional<UnaryChoice> UnaryOf(const Node& node) {
  return ChooseUnary(node.op, UnaryParametersOf(node));
}

std::optional<UnaryLoop> PowerOf(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kPow) return std::nullopt;
  const ConstantRef& exponent = graph.tensor(node.inputs[1]).constant;
  const Tensor* value = exponent == nullptr ? nullptr : exponent->inline_value();
  if (value == nullptr || value->elements() != 1) return std::nullopt;
  if (graph.type(node.inputs[0]).rank() < value->type().rank()) return std::nullopt;
  const float power = value->at<float>(0);
  if (power == 2) return UnaryLoop::kSquare;
  if (power == 3) return UnaryLoop::kCube;
  if (power == 0.5f) return UnaryLoop::kSqrt;
  return std::nullopt;
}

UnaryLoop FloatCastOf(DataType to) {
  if (to == DataType::kFloat16) return UnaryLoop::kRoundToFloat16;
  return to == DataType::kBfloat16 ? UnaryLoop::kRoundToBfloat16 : UnaryLoop::kCopy;
}

std::optional<BinaryChoice> BinaryOf(OpKind op) {
  switch (op) {
#define PLAIT_ARITHMETIC_OP(op, loop) \
  case OpKind::k##op:                 \
    return BinaryChoice{BinaryLoop::k##loop, IntegerLoop::k##loop};
#define PLAIT_FLOAT_BINARY_OP(op) \
  case OpKind::k##op:             \
    return BinaryChoice{BinaryLoop::k##op, std::nullopt};
#include "gpu_worker/backends/groups/elementwise_ops.def"
#undef PLAIT_ARITHMETIC_OP
#undef PLAIT_FLOAT_BINARY_OP
    default:
      return std::nullopt;
  }
}

std::optional<TruthChoice> TruthOf(OpKind op) {
  switch (op) {
#define PLAIT_COMPARE_OP(op) \
  case OpKind::k##op:        \
    return TruthChoice{CompareLoop::k##op, IntegerLoop::k##op};
#define PLAIT_LOGIC_OP(op) \
  case OpKind::k##op:      \
    return TruthChoice{std::nullopt, IntegerLoop::k##op};
#define PLAIT_BITWISE_OP(op, loop) \
  case OpKind::k##op:              \
    return TruthChoice{std::nullopt, IntegerLoop::k##loop};
#include "gpu_worker/backends/groups/elementwise_ops.def"
#undef PLAIT_COMPARE_OP
#undef PLAIT_LOGIC_OP
#undef PLAIT_BITWISE_OP
    default:
      return std::nullopt;
  }
}

}  // namespace plait
