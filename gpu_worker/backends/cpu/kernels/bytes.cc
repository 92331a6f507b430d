#include "gpu_worker/backends/cpu/kernels/bytes.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"

namespace plait {

int32_t ByteParameter::integer(int64_t index) const {
  if (data == nullptr) return 0;
  const int64_t at = count == 1 ? 0 : index;
  if (dtype == DataType::kInt32) return reinterpret_cast<const int32_t*>(data)[at];
  if (dtype == DataType::kInt8) return reinterpret_cast<const int8_t*>(data)[at];
  return reinterpret_cast<const uint8_t*>(data)[at];
}

float ByteParameter::scale(int64_t index) const {
  return reinterpret_cast<const float*>(data)[count == 1 ? 0 : index];
}

absl::StatusOr<ByteParameter> ByteParameterOf(LoadContext* context, const Node& node,
                                              size_t index) {
  if (index >= node.inputs.size() || node.inputs[index] == kNoTensor) return ByteParameter();
  PLAIT_ASSIGN_OR_RETURN(const Operand operand,
                         FindIn(context, node.inputs[index], Format::kPlain));
  return ByteParameter{operand.data, operand.type.dtype, operand.type.elements()};
}

}  // namespace plait
