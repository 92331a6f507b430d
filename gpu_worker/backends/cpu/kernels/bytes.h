#pragma once

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Tensors of bytes, signed or not, as kernels read them.

// Scales or zero points: one for all, or one for each index along an axis. Their values may be
// those of a run.
struct ByteParameter {
  const std::byte* data = nullptr;  // nullptr: omitted, which is 0
  DataType dtype = DataType::kUint8;
  int64_t count = 1;

  // Of a zero point: a byte, or an int32.
  int32_t integer(int64_t index) const;
  // Of a scale.
  float scale(int64_t index) const;
};

// Input `index` of the node, which may be omitted.
// Errors: those of LoadContext::Find.
absl::StatusOr<ByteParameter> ByteParameterOf(LoadContext* context, const Node& node, size_t index);

inline const uint8_t* BytesAt(const Operand& operand) {
  return reinterpret_cast<const uint8_t*>(operand.data);
}

// The place of a type's loop in IntegerLoops.
inline int SignOf(DataType dtype) { return dtype == DataType::kInt8 ? 1 : 0; }

inline ByteRange ByteRangeOf(DataType dtype, int32_t zero_point) {
  return dtype == DataType::kInt8 ? ByteRange{-128, 127, zero_point}
                                  : ByteRange{0, 255, zero_point};
}

}  // namespace plait
