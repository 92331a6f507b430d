#include "gpu_worker/backends/cpu/kernels/bf16_layer.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/microkernel/bf16_microkernel.h"

namespace plait {

absl::StatusOr<std::unique_ptr<PlaneLayer>> Bf16Layer::Load(LoadContext* context, Format format,
                                                            int64_t columns) {
  std::unique_ptr<Bf16Layer> layer(new Bf16Layer);
  PLAIT_RETURN_IF_ERROR(layer->Read(context, format, columns, {1, 3, 6}));
  return layer;
}

absl::Status Bf16Layer::Pack(LoadContext* context, const PlaneWeights::Shape& shape,
                             absl::FunctionRef<void(int64_t column, float* numbers)> read) {
  PLAIT_ASSIGN_OR_RETURN(weights_, Bf16Weights::Pack(context, shape, read));
  return absl::OkStatus();
}

Microkernel Bf16Layer::ListOf(const PlaneTile& tile) const { return Bf16Microkernel(tile); }

int64_t Bf16Layer::SumCountOf(const PlaneTile& tile) const { return LevelNumbers(tile); }

bool Bf16Layer::Join(const PlaneTile& tile, int piece_index, const Piece& piece, int64_t block,
                     const std::byte* sums) const {
  const auto* const floats = reinterpret_cast<const float*>(sums);
  return Loops().bf16.join_sums({floats + SumOffset(tile, 0, piece_index, 0, 0), piece.rows,
                                 tile.columns, BiasOf(block),
                                 piece.result + block * PlaneWeights::kBlockColumns, columns()});
}

void Bf16Layer::AddToBlock(float x, int64_t k, int64_t block, float* y) const {
  weights_.AddNumber(x, k, block, y);
}

}  // namespace plait
