#include "gpu_worker/backends/cpu/kernels/digit_layer.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

namespace plait {

absl::StatusOr<std::unique_ptr<PlaneLayer>> DigitLayer::Load(LoadContext* context, Format format,
                                                             int64_t columns) {
  std::unique_ptr<DigitLayer> layer(new DigitLayer);
  PLAIT_RETURN_IF_ERROR(layer->Read(context, format, columns, {3, 6, 8}));
  layer->levels_ = static_cast<int>(ProductLevels(layer->products()).size());
  return layer;
}

absl::Status DigitLayer::Pack(LoadContext* context, const PlaneWeights::Shape& shape,
                              absl::FunctionRef<void(int64_t column, float* numbers)> read) {
  PLAIT_ASSIGN_OR_RETURN(weights_, DigitWeights::Pack(context, shape, read));
  return absl::OkStatus();
}

Microkernel DigitLayer::ListOf(const PlaneTile& tile) const { return DigitMicrokernel(tile); }

int64_t DigitLayer::SumCountOf(const PlaneTile& tile) const { return DigitSumCount(tile); }

// What digits stand for is finite.
bool DigitLayer::Join(const PlaneTile& tile, int piece_index, const Piece& piece, int64_t block,
                      const std::byte* sums) const {
  const int64_t column = block * PlaneWeights::kBlockColumns;
  const DigitSums joined{
      reinterpret_cast<const int32_t*>(sums) + SumOffset(tile, 0, piece_index, 0, 0),
      LevelNumbers(tile),
      levels_,
      piece.rows,
      tile.columns,
      piece.row_scales,
      weights_.scales() + column,
      BiasOf(block),
      piece.result + column,
      columns()};
  Loops().join_sums(joined);
  return true;
}

void DigitLayer::AddToBlock(float x, int64_t k, int64_t block, float* y) const {
  weights_.AddNumber(x, k, block, y);
}

}  // namespace plait
