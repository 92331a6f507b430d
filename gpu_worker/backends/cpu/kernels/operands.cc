#include "gpu_worker/backends/cpu/kernels/operands.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {

absl::StatusOr<Operand> FindIn(LoadContext* context, TensorId tensor, Format format) {
  PLAIT_ASSIGN_OR_RETURN(const Operand operand, context->Find(tensor));
  if (operand.format != EffectiveFormat(operand.type, format)) return context->Refuse();
  return operand;
}

absl::StatusOr<Ends> EndsOf(LoadContext* context, TensorId source, TensorId result) {
  PLAIT_ASSIGN_OR_RETURN(const Operand first, context->Find(source));
  PLAIT_ASSIGN_OR_RETURN(const Operand last, context->Find(result));
  const Format format = first.format == Format::kPlain ? last.format : first.format;
  const bool lie_in_it = first.format == EffectiveFormat(first.type, format) &&
                         last.format == EffectiveFormat(last.type, format);
  if (!lie_in_it) return context->Refuse();
  return Ends{format, first, last};
}

absl::StatusOr<std::byte*> OutputOf(LoadContext* context, const Node& node, size_t index,
                                    Format format) {
  if (!IsRead(context->graph(), node, index)) return nullptr;
  PLAIT_ASSIGN_OR_RETURN(const Operand operand, FindIn(context, node.outputs[index], format));
  return operand.data;
}

absl::StatusOr<const float*> BiasOf(LoadContext* context, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoTensor) return nullptr;
  PLAIT_ASSIGN_OR_RETURN(const Operand bias, context->Find(node.inputs[2]));
  return bias.floats();
}

}  // namespace plait
