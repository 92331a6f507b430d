#include "gpu_worker/backends/cpu/kernels/unary_choice.h"

namespace plait {
namespace {

std::optional<UnaryLoop> UnaryLoopOf(OpKind op) {
  switch (op) {
#define PLAIT_UNARY_OP(op, loop, follows) \
  case OpKind::k##op:                     \
    return UnaryLoop::k##loop;
#define PLAIT_PARAMETRIC_OP(op, loop, alpha, beta, follows) \
  case OpKind::k##op:                                       \
    return UnaryLoop::k##loop;
#include "gpu_worker/backends/groups/elementwise_ops.def"
#undef PLAIT_UNARY_OP
#undef PLAIT_PARAMETRIC_OP
    default:
      return std::nullopt;
  }
}

}  // namespace

// The tanh form of Gelu is another loop and no parameter of the same one.
std::optional<UnaryChoice> ChooseUnary(OpKind op, const UnaryParameters& parameters) {
  std::optional<UnaryLoop> loop = UnaryLoopOf(op);
  if (!loop.has_value()) return std::nullopt;
  if (op == OpKind::kGelu && parameters.alpha == 1) loop = UnaryLoop::kGeluTanh;
  return UnaryChoice{*loop, parameters.alpha, parameters.beta};
}

// Clip is no line of elementwise_ops.def, because a program reads its bounds from constants.
std::optional<UnaryChoice> ChooseUnary(const PostOperation& operation) {
  if (operation.kind == PostOperation::Kind::kLinear) {
    return UnaryChoice{UnaryLoop::kLinear, operation.alpha, operation.beta};
  }
  if (operation.op == OpKind::kClip) {
    return UnaryChoice{UnaryLoop::kClip, operation.alpha, operation.beta};
  }
  return ChooseUnary(operation.op, {operation.alpha, operation.beta});
}

}  // namespace plait
