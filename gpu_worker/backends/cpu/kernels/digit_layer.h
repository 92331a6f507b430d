#pragma once

#include "gpu_worker/backends/cpu/kernels/digit_weights.h"
#include "gpu_worker/backends/cpu/kernels/plane_layer.h"

namespace plait {

// A layer whose planes are digits (see digit_microkernel.h), with a scale for each row.
class DigitLayer : public PlaneLayer {
 public:
  // Reads the kernel: variants x3, x6 and x8. Errors: those of PlaneLayer::Read.
  static absl::StatusOr<std::unique_ptr<PlaneLayer>> Load(LoadContext* context, Format format,
                                                          int64_t columns);

  const PlaneWeights& weights() const override { return weights_; }
  void Split(const PlaneRows& rows) const override { Loops().split_rows(rows); }

 private:
  DigitLayer() : PlaneLayer(1, true) {}

  absl::Status Pack(LoadContext* context, const PlaneWeights::Shape& shape,
                    absl::FunctionRef<void(int64_t column, float* numbers)> read) override;
  Microkernel ListOf(const PlaneTile& tile) const override;
  int64_t SumCountOf(const PlaneTile& tile) const override;
  bool Join(const PlaneTile& tile, int piece_index, const Piece& piece, int64_t block,
            const std::byte* sums) const override;
  void AddToBlock(float x, int64_t k, int64_t block, float* y) const override;

  DigitWeights weights_;
  int levels_ = 1;
};

}  // namespace plait
