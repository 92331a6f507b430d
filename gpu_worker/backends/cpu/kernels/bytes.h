#pragma once

#include <algorithm>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/integer_bounds.h"
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

inline ByteRange ByteRangeOf(DataType dtype, int32_t zero_point, const IntegerLimits& limits = {}) {
  const bool is_signed = dtype == DataType::kInt8;
  return {std::max(is_signed ? -128 : 0, limits.lowest),
          std::min(is_signed ? 127 : 255, limits.highest), zero_point};
}

}  // namespace plait
