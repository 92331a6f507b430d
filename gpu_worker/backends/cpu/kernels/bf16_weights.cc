#include "gpu_worker/backends/cpu/kernels/bf16_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/microkernel/bf16_microkernel.h"

namespace plait {

absl::StatusOr<Bf16Weights> Bf16Weights::Pack(
    LoadContext* context, const Shape& shape,
    absl::FunctionRef<void(int64_t column, float* numbers)> read) {
  Bf16Weights weights;
  PLAIT_ASSIGN_OR_RETURN(const bool is_packed, weights.Allocate(context, shape));
  if (is_packed) return weights;
  PLAIT_RETURN_IF_ERROR(weights.PackColumns(
      context, read,
      [&](int64_t column, const float* numbers) { return weights.PackColumn(column, numbers); }));
  return weights;
}

// Two numbers that follow each other along the depth lie beside each other.
bool Bf16Weights::PackColumn(int64_t column, const float* numbers) const {
  if (!std::all_of(numbers, numbers + depth(), [](float x) { return std::isfinite(x); })) {
    return false;
  }
  const int planes = shape().planes;
  std::vector<uint16_t> halves(static_cast<size_t>(planes * depth()));
  PlaneRows row{.x = numbers,
                .x_row_floats = depth(),
                .rows = 1,
                .size = depth(),
                .plane_size = depth(),
                .planes = {},
                .stride_bytes = depth() * 2};
  for (int plane = 0; plane < planes; ++plane) {
    row.planes[plane] = reinterpret_cast<std::byte*>(&halves[plane * depth()]);
  }
  Loops().bf16.split_rows(row);
  // Where all planes round to zero the least bf16 stands for the number: times an infinity it is
  // not nothing.
  for (int64_t k = 0; k < depth(); ++k) {
    if ((halves[k] & 0x7fff) == 0 && numbers[k] != 0) halves[k] |= 1;
  }
  std::byte* const packed = block(column / kBlockColumns);
  for (int plane = 0; plane < planes; ++plane) {
    for (int64_t k = 0; k < depth(); k += 2) {
      std::memcpy(packed + Offset(plane, k, column), &halves[plane * depth() + k], 4);
    }
  }
  return true;
}

int64_t Bf16Weights::Offset(int plane, int64_t k, int64_t column) const {
  return RightBf16Offset(shape().planes, (ColumnsOf(column / kBlockColumns) + 15) / 16, plane, k,
                         static_cast<int>(column % kBlockColumns));
}

void Bf16Weights::AddNumber(float x, int64_t k, int64_t block, float* y) const {
  const int64_t column = block * kBlockColumns;
  const int64_t two = k / 2 * 2;
  Loops().bf16.add_number({x, this->block(block) + Offset(0, two, column),
                           static_cast<int>(k - two), shape().planes, ColumnsOf(block), y});
}

}  // namespace plait
