#include "gpu_worker/backends/cpu/kernels/operands.h"

#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {

absl::StatusOr<Operand> FindIn(LoadContext* context, TensorId tensor, Format format) {
  PLAIT_ASSIGN_OR_RETURN(const Operand operand, context->Find(tensor));
  if (operand.format != EffectiveFormat(operand.type, format)) return context->Refuse();
  return operand;
}

absl::StatusOr<const float*> BiasOf(LoadContext* context, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoTensor) return nullptr;
  PLAIT_ASSIGN_OR_RETURN(const Operand bias, context->Find(node.inputs[2]));
  return bias.floats();
}

}  // namespace plait
