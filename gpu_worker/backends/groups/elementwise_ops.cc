#include "gpu_worker/backends/groups/elementwise_ops.h"

namespace plait {

bool IsHalf(DataType dtype) { return dtype == DataType::kFloat16 || dtype == DataType::kBfloat16; }

bool Contains(ElementTypes types, DataType dtype) {
  const bool is_arithmetic =
      dtype == DataType::kFloat32 || dtype == DataType::kInt64 || dtype == DataType::kInt32;
  switch (types) {
    case ElementTypes::kFloat32:
      return dtype == DataType::kFloat32;
    case ElementTypes::kArithmetic:
      return is_arithmetic;
    case ElementTypes::kStorable:
      return is_arithmetic || dtype == DataType::kBool ||
             (IsInteger(dtype) && dtype != DataType::kUint64);
    case ElementTypes::kCastable:
      return IsHalf(dtype) || Contains(ElementTypes::kStorable, dtype);
    case ElementTypes::kBool:
      return dtype == DataType::kBool;
    case ElementTypes::kInteger:
      return IsInteger(dtype);
  }
  return false;
}

std::optional<ElementwiseOp> FindElementwiseOp(OpKind op) {
  switch (op) {
#define PLAIT_UNARY_OP(op, loop, follows) \
  case OpKind::k##op:                     \
    return ElementwiseOp{ElementTypes::kFloat32, follows};
#define PLAIT_PARAMETRIC_OP(op, loop, alpha, beta, follows) \
  case OpKind::k##op:                                       \
    return ElementwiseOp{ElementTypes::kFloat32, follows, true, alpha, beta};
#define PLAIT_ARITHMETIC_OP(op, loop) \
  case OpKind::k##op:                 \
    return ElementwiseOp{ElementTypes::kArithmetic};
#define PLAIT_FLOAT_BINARY_OP(op) \
  case OpKind::k##op:             \
    return ElementwiseOp{ElementTypes::kFloat32};
#define PLAIT_COMPARE_OP(op) \
  case OpKind::k##op:        \
    return ElementwiseOp{ElementTypes::kStorable};
#define PLAIT_LOGIC_OP(op) \
  case OpKind::k##op:      \
    return ElementwiseOp{ElementTypes::kBool};
#define PLAIT_BITWISE_OP(op, loop) \
  case OpKind::k##op:              \
    return ElementwiseOp{ElementTypes::kInteger};
#define PLAIT_SPECIAL_OP(op, types) \
  case OpKind::k##op:               \
    return ElementwiseOp{ElementTypes::k##types};
#include "gpu_worker/backends/groups/elementwise_ops.def"
#undef PLAIT_UNARY_OP
#undef PLAIT_PARAMETRIC_OP
#undef PLAIT_ARITHMETIC_OP
#undef PLAIT_FLOAT_BINARY_OP
#undef PLAIT_COMPARE_OP
#undef PLAIT_LOGIC_OP
#undef PLAIT_BITWISE_OP
#undef PLAIT_SPECIAL_OP
    default:
      return std::nullopt;
  }
}

// The defaults are ONNX's and stand in the table. For Gelu alpha only tells its two forms apart.
UnaryParameters UnaryParametersOf(const Node& node) {
  const std::optional<ElementwiseOp> op = FindElementwiseOp(node.op);
  if (node.op == OpKind::kGelu) {
    return {.alpha = node.attributes->String("approximate", "none") == "tanh" ? 1.0f : 0.0f};
  }
  if (!op.has_value() || !op->has_parameters) return {};
  if (node.op == OpKind::kSelu) {
    return {node.attributes->Float("alpha", op->alpha), node.attributes->Float("gamma", op->beta)};
  }
  if (node.op == OpKind::kShrink) {
    return {node.attributes->Float("lambd", op->alpha), node.attributes->Float("bias", op->beta)};
  }
  return {node.attributes->Float("alpha", op->alpha), node.attributes->Float("beta", op->beta)};
}

}  // namespace plait
