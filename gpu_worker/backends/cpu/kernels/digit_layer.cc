#include "gpu_worker/backends/cpu/kernels/digit_layer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

std::optional<int> ProductsOf(absl::string_view variant) {
  for (const int products : {3, 6, 8}) {
    if (variant == absl::StrCat("x", products)) return products;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<DigitLayer> DigitLayer::Read(LoadContext* context, Format format, int64_t columns) {
  const std::optional<int> products = ProductsOf(context->kernel().variant);
  if (!products.has_value()) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(RowLayer rows, ReadRowLayer(context, format, columns));
  DigitLayer layer;
  layer.products_ = *products;
  layer.planes_ = *products == 3 ? 2 : 3;
  layer.levels_ = static_cast<int>(DigitLevels(*products).size());
  layer.columns_ = columns;
  layer.source_ = rows.source.floats();
  layer.result_ = rows.result.floats();
  layer.epilogue_ = std::move(rows.epilogue);
  return layer;
}

absl::Status DigitLayer::PackWeights(
    LoadContext* context, int64_t steps,
    absl::FunctionRef<void(const float* values, int64_t column, float* numbers)> read) {
  const Node& node = context->graph().node(context->kernel().nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[1]));
  const auto* const floats = reinterpret_cast<const float*>(values.bytes().data());
  steps_ = steps;
  PLAIT_ASSIGN_OR_RETURN(weights_, DigitWeights::Pack(context, {columns_, steps, planes_},
                                                      [&](int64_t column, float* numbers) {
                                                        read(floats, column, numbers);
                                                      }));
  return absl::OkStatus();
}

absl::Status DigitLayer::AddTile(DigitTile tile) {
  tile.planes = planes_;
  tile.products = products_;
  for (const int64_t block : {int64_t{0}, weights_.blocks() - 1}) {
    tile.columns = weights_.ColumnsOf(block);
    const auto is_known = [&](const std::unique_ptr<Tile>& other) {
      return std::equal(tile.rows, tile.rows + 2, other->shape.rows) &&
             tile.columns == other->shape.columns;
    };
    if (std::any_of(tiles_.begin(), tiles_.end(), is_known)) continue;
    PLAIT_ASSIGN_OR_RETURN(LoadedMicrokernel microkernel,
                           LoadedMicrokernel::Load(DigitMicrokernel(tile)));
    tiles_.push_back(std::make_unique<Tile>(Tile{tile, std::move(microkernel)}));
    sums_bytes_ = std::max(sums_bytes_, SumCount(tile) * 4);
  }
  return absl::OkStatus();
}

absl::Status DigitLayer::AllocateSums(LoadContext* context) {
  PLAIT_ASSIGN_OR_RETURN(sums_, context->AllocateScratch(context->width() * sums_bytes_));
  runner_ = ChunkRunner(context->width());
  return absl::OkStatus();
}

absl::Status DigitLayer::RunChunks(
    int64_t chunks, absl::FunctionRef<absl::Status(int64_t chunk, int thread, Lane& lane)> run) {
  return runner_.Run(chunks, [&](int64_t begin, int64_t end, int thread) -> absl::Status {
    Lane lane{sums_ + thread * sums_bytes_, {}};
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      PLAIT_RETURN_IF_ERROR(run(chunk, thread, lane));
    }
    return absl::OkStatus();
  });
}

absl::Status DigitLayer::Multiply(absl::Span<const Piece> pieces, const int (&tile_rows)[2],
                                  int64_t block, int64_t turn, Lane& lane) const {
  const int columns = weights_.ColumnsOf(block);
  const auto found = std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& tile) {
    return std::equal(tile_rows, tile_rows + 2, tile->shape.rows) && tile->shape.columns == columns;
  });
  PLAIT_CHECK(found != tiles_.end());
  const Tile& tile = **found;
  const auto left = [&](size_t index) -> MicroOperand {
    const Piece& piece = pieces[std::min(index, pieces.size() - 1)];
    return {reinterpret_cast<std::byte*>(piece.digits), piece.digits_bytes};
  };
  const int64_t next = std::min(block + 1, weights_.blocks() - 1);
  const int64_t called = turn * steps_ * tile.shape.prefetch_bytes_per_step;
  const MicroOperand operands[] = {left(0),
                                   left(1),
                                   {weights_.block(block), RightBytes(tile.shape)},
                                   {lane.sums, sums_bytes_, true},
                                   {weights_.block(next) + called, weights_.block_bytes()}};
  const size_t count = tile.shape.prefetch_bytes_per_step > 0 ? 5 : 4;
  lane.tiles.Configure(tile.microkernel);
  PLAIT_RETURN_IF_ERROR(tile.microkernel.Run(absl::MakeConstSpan(operands, count)));
  const int64_t column = block * DigitWeights::kBlockColumns;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* const sums = reinterpret_cast<const int32_t*>(lane.sums);
    const DigitSums joined{sums + SumOffset(tile.shape, 0, static_cast<int>(i), 0, 0),
                           LevelNumbers(tile.shape),
                           levels_,
                           pieces[i].rows,
                           columns,
                           pieces[i].row_scales,
                           weights_.scales() + column,
                           epilogue_.bias() == nullptr ? nullptr : epilogue_.bias() + column,
                           pieces[i].result + column,
                           columns_};
    Loops().join_sums(joined);
  }
  return absl::OkStatus();
}

void DigitLayer::AddNumber(float x, int64_t k, int64_t first, int64_t last, float* result) const {
  for (int64_t block = first; block < last; ++block) {
    weights_.AddNumber(x, k, block, result + block * DigitWeights::kBlockColumns);
  }
}

void DigitLayer::Begin(int64_t first, int64_t last, float* result) const {
  const int64_t begin = first * DigitWeights::kBlockColumns;
  const int64_t end = std::min(columns_, last * DigitWeights::kBlockColumns);
  if (epilogue_.bias() == nullptr) {
    std::fill(result + begin, result + end, 0.0f);
  } else {
    std::copy(epilogue_.bias() + begin, epilogue_.bias() + end, result + begin);
  }
}

}  // namespace plait
