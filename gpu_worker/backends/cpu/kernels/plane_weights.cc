#include "gpu_worker/backends/cpu/kernels/plane_weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {

int64_t PlaneWeights::blocks() const {
  return (shape_.columns + kBlockColumns - 1) / kBlockColumns;
}

int PlaneWeights::ColumnsOf(int64_t block) const {
  return static_cast<int>(std::min<int64_t>(kBlockColumns, shape_.columns - block * kBlockColumns));
}

absl::StatusOr<bool> PlaneWeights::Allocate(LoadContext* context, const Shape& shape) {
  shape_ = shape;
  block_bytes_ = int64_t{kBlockColumns} * shape.planes * shape.steps * kStepBytes;
  const Fingerprint form = FingerprintBuilder()
                               .Add("planes")
                               .Add(shape.columns)
                               .Add(shape.planes)
                               .Add(shape.number_bytes)
                               .Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(blocks() * block_bytes_, form));
  planes_ = place.data;
  return place.is_packed;
}

absl::Status PlaneWeights::PackColumns(
    LoadContext* context, absl::FunctionRef<void(int64_t column, float* numbers)> read,
    absl::FunctionRef<bool(int64_t column, const float* numbers)> pack) const {
  std::atomic<bool> is_packed = true;
  ForEachPart(context->width(), blocks(), [&](int64_t begin, int64_t end, int) {
    std::vector<float> numbers(static_cast<size_t>(depth()));
    for (int64_t block = begin; block < end; ++block) {
      std::memset(this->block(block), 0, static_cast<size_t>(block_bytes_));
      const int64_t first = block * kBlockColumns;
      for (int64_t column = first; column < first + ColumnsOf(block); ++column) {
        std::fill(numbers.begin(), numbers.end(), 0.0f);
        read(column, numbers.data());
        if (!pack(column, numbers.data())) is_packed = false;
      }
    }
  });
  return is_packed ? absl::OkStatus() : context->Refuse();
}

}  // namespace plait
