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
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         AllocateBeside(context, blocks() * block_bytes_, "planes"));
  planes_ = place.data;
  return place.is_packed;
}

absl::StatusOr<SharingExecutable::Place> PlaneWeights::AllocateBeside(
    LoadContext* context, int64_t bytes, absl::string_view what) const {
  const Fingerprint form = FingerprintBuilder()
                               .Add(what)
                               .Add(shape_.columns)
                               .Add(shape_.steps)
                               .Add(shape_.planes)
                               .Add(shape_.number_bytes)
                               .Add(shape_.made_how)
                               .Finish();
  return context->AllocatePackedOf(shape_.made_of, bytes, form);
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
