#include "gpu_worker/backends/cpu/kernels/plane_layer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {

absl::Status PlaneLayer::Read(LoadContext* context, Format format, int64_t columns,
                              absl::Span<const int> products) {
  const std::string& variant = context->kernel().variant;
  const auto* const found = std::find_if(products.begin(), products.end(), [&](int count) {
    return variant == absl::StrCat("x", count);
  });
  if (found == products.end()) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(RowLayer rows, ReadRowLayer(context, format, columns));
  products_ = *found;
  columns_ = columns;
  source_ = rows.source.floats();
  result_ = rows.result.floats();
  epilogue_ = std::move(rows.epilogue);
  return absl::OkStatus();
}

absl::Status PlaneLayer::PackWeights(
    LoadContext* context, int64_t steps, const Fingerprint& how,
    absl::FunctionRef<void(const float* values, int64_t column, float* numbers)> read) {
  const Node& node = context->graph().node(context->kernel().nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[1]));
  const auto* const floats = reinterpret_cast<const float*>(values.bytes().data());
  steps_ = steps;
  return Pack(context, {columns_, steps, planes(), number_bytes_, node.inputs[1], how},
              [&](int64_t column, float* numbers) { read(floats, column, numbers); });
}

absl::Status PlaneLayer::AddTile(PlaneTile tile) {
  tile.planes = planes();
  tile.products = products_;
  for (const int64_t block : {int64_t{0}, weights().blocks() - 1}) {
    tile.columns = weights().ColumnsOf(block);
    const auto is_known = [&](const std::unique_ptr<Tile>& other) {
      return std::equal(tile.rows, tile.rows + 2, other->shape.rows) &&
             tile.columns == other->shape.columns;
    };
    if (std::any_of(tiles_.begin(), tiles_.end(), is_known)) continue;
    PLAIT_ASSIGN_OR_RETURN(LoadedMicrokernel microkernel, LoadedMicrokernel::Load(ListOf(tile)));
    tiles_.push_back(std::make_unique<Tile>(Tile{tile, std::move(microkernel)}));
    sums_bytes_ = std::max(sums_bytes_, SumCountOf(tile) * 4);
  }
  return absl::OkStatus();
}

absl::Status PlaneLayer::AllocateSums(LoadContext* context) {
  PLAIT_ASSIGN_OR_RETURN(sums_, context->AllocateScratch(context->width() * sums_bytes_));
  runner_ = ChunkRunner(context->width());
  return absl::OkStatus();
}

absl::Status PlaneLayer::RunChunks(
    int64_t chunks, absl::FunctionRef<absl::Status(int64_t chunk, int thread, Lane& lane)> run) {
  return runner_.Run(chunks, [&](int64_t begin, int64_t end, int thread) -> absl::Status {
    Lane lane{sums_ + thread * sums_bytes_, {}};
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      lane.is_finite = true;
      PLAIT_RETURN_IF_ERROR(run(chunk, thread, lane));
    }
    return absl::OkStatus();
  });
}

absl::Status PlaneLayer::Multiply(absl::Span<const Piece> pieces, const int (&tile_rows)[2],
                                  int64_t block, int64_t turn, Lane& lane) const {
  const int columns = weights().ColumnsOf(block);
  const auto found = std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& tile) {
    return std::equal(tile_rows, tile_rows + 2, tile->shape.rows) && tile->shape.columns == columns;
  });
  PLAIT_CHECK(found != tiles_.end());
  const Tile& tile = **found;
  const auto left = [&](size_t index) -> MicroOperand {
    const Piece& piece = pieces[std::min(index, pieces.size() - 1)];
    return {piece.planes, piece.planes_bytes};
  };
  const int64_t next = std::min(block + 1, weights().blocks() - 1);
  const int64_t called = turn * steps_ * tile.shape.prefetch_bytes_per_step;
  const MicroOperand operands[] = {left(0),
                                   left(1),
                                   {weights().block(block), RightTileBytes(tile.shape)},
                                   {lane.sums, sums_bytes_, true},
                                   {weights().block(next) + called, weights().block_bytes()}};
  const size_t count = tile.shape.prefetch_bytes_per_step > 0 ? 5 : 4;
  lane.tiles.Configure(tile.microkernel);
  PLAIT_RETURN_IF_ERROR(tile.microkernel.Run(absl::MakeConstSpan(operands, count)));
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!Join(tile.shape, static_cast<int>(i), pieces[i], block, lane.sums)) lane.is_finite = false;
  }
  return absl::OkStatus();
}

void PlaneLayer::AddNumber(float x, int64_t k, int64_t first, int64_t last, float* result) const {
  for (int64_t block = first; block < last; ++block) {
    AddToBlock(x, k, block, result + block * PlaneWeights::kBlockColumns);
  }
}

void PlaneLayer::Begin(int64_t first, int64_t last, float* result) const {
  const int64_t begin = first * PlaneWeights::kBlockColumns;
  const int64_t end = std::min(columns_, last * PlaneWeights::kBlockColumns);
  if (epilogue_.bias() == nullptr) {
    std::fill(result + begin, result + end, 0.0f);
  } else {
    std::copy(epilogue_.bias() + begin, epilogue_.bias() + end, result + begin);
  }
}

bool PlaneLayer::IsFinite(int64_t first, int64_t last, const float* result) const {
  const int64_t begin = first * PlaneWeights::kBlockColumns;
  const int64_t end = std::min(columns_, last * PlaneWeights::kBlockColumns);
  return std::all_of(result + begin, result + end, [](float x) { return std::isfinite(x); });
}

}  // namespace plait
