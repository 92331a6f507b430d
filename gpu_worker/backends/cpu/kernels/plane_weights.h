#pragma once

#include "absl/functional/function_ref.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// The constant side of a product in planes (see plane_tile.h): columns in blocks of 32, in the
// order in which the microkernel reads them. Part of an executable's weights.
class PlaneWeights {
 public:
  static constexpr int kBlockColumns = 32;
  static constexpr int64_t kStepBytes = 64;

  struct Shape {
    int64_t columns;
    int64_t steps;         // of 64 bytes of each column
    int planes;            // 1 to 3
    int64_t number_bytes;  // in each plane
    // The constant that columns are read of, and how (LoadContext::AllocatePackedOf).
    TensorId made_of;
    Fingerprint made_how;
  };

  int64_t blocks() const;
  // Columns of a block: 32, or fewer of the last one.
  int ColumnsOf(int64_t block) const;
  std::byte* block(int64_t block) const { return planes_ + block * block_bytes_; }
  int64_t block_bytes() const { return block_bytes_; }

 protected:
  // Memory for all blocks, and whether another executable has packed them already.
  // Errors: ResourceExhausted.
  absl::StatusOr<bool> Allocate(LoadContext* context, const Shape& shape);
  // Calls pack(column, numbers) for every column, by as many threads as the kernel is wide, with
  // its numbers as `read` writes them in the order of steps; where it writes none they are 0.
  // Errors: InvalidArgument (LoadContext::Refuse) where `pack` returned false.
  absl::Status PackColumns(
      LoadContext* context, absl::FunctionRef<void(int64_t column, float* numbers)> read,
      absl::FunctionRef<bool(int64_t column, const float* numbers)> pack) const;

  // The same for what else is made of the constant. `what` names it.
  absl::StatusOr<SharingExecutable::Place> AllocateBeside(LoadContext* context, int64_t bytes,
                                                          absl::string_view what) const;

  const Shape& shape() const { return shape_; }
  // Numbers of a column.
  int64_t depth() const { return shape_.steps * kStepBytes / shape_.number_bytes; }

 private:
  Shape shape_{};
  int64_t block_bytes_ = 0;
  std::byte* planes_ = nullptr;
};

}  // namespace plait
