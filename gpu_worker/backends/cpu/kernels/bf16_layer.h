#pragma once

#include "gpu_worker/backends/cpu/kernels/bf16_weights.h"
#include "gpu_worker/backends/cpu/kernels/plane_layer.h"

namespace plait {

// A layer whose planes are of bf16 (see bf16_microkernel.h), without scales.
class Bf16Layer : public PlaneLayer {
 public:
  // Reads the kernel: variants x1, x3 and x6. Errors: those of PlaneLayer::Read.
  static absl::StatusOr<std::unique_ptr<PlaneLayer>> Load(LoadContext* context, Format format,
                                                          int64_t columns);

  const PlaneWeights& weights() const override { return weights_; }
  void Split(const PlaneRows& rows) const override { Loops().bf16.split_rows(rows); }

 private:
  Bf16Layer() : PlaneLayer(2, false) {}

  absl::Status Pack(LoadContext* context, const PlaneWeights::Shape& shape,
                    absl::FunctionRef<void(int64_t column, float* numbers)> read) override;
  Microkernel ListOf(const PlaneTile& tile) const override;
  int64_t SumCountOf(const PlaneTile& tile) const override;
  bool Join(const PlaneTile& tile, int piece_index, const Piece& piece, int64_t block,
            const std::byte* sums) const override;
  void AddToBlock(float x, int64_t k, int64_t block, float* y) const override;

  Bf16Weights weights_;
};

}  // namespace plait
