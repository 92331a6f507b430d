#include "gpu_worker/backends/cpu/kernels/fma_product.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// A row of a wide matrix is pages away from the next one: of each some cache lines at a time.
constexpr int64_t kBlocksPackedTogether = 4;

MicroOperand OperandOf(const float* data, int64_t floats) {
  return {reinterpret_cast<std::byte*>(const_cast<float*>(data)), floats * 4};
}

// Tiles of equally many rows, but for one: a tile of one row would take as long as one of three.
int64_t FirstRowOf(int64_t tile, int64_t tiles, int64_t rows) { return tile * rows / tiles; }

// Three where two would leave one alone at the end, whose tiles read as much for half of the
// products, and three do not.
int WideBlockVectors(int64_t columns, int vector_floats) {
  const int64_t vectors = CeilDiv(columns, vector_floats);
  const bool is_better = FmaVectorsMax(vector_floats) == 3 && vectors % 2 == 1 && vectors % 3 != 1;
  return is_better ? 3 : 2;
}

int VectorFloats() { return CurrentInstructionSet() >= InstructionSet::kAvx512 ? 16 : 8; }

}  // namespace

int64_t FmaProduct::BlockColumns() { return 2 * int64_t{VectorFloats()}; }

int64_t FmaProduct::WideBlockColumns(int64_t columns) {
  return WideBlockVectors(columns, VectorFloats()) * int64_t{VectorFloats()};
}

absl::StatusOr<FmaProduct> FmaProduct::LoadMatrix(LoadContext* context,
                                                  const ConstantProduct& shape, TensorId right,
                                                  const float* bias) {
  Tensor values;
  const auto make = [&]() -> absl::StatusOr<const float*> {
    PLAIT_ASSIGN_OR_RETURN(values, context->ConstantValue(right));
    return reinterpret_cast<const float*>(values.bytes().data());
  };
  return Load(context, shape, {.bias = bias, .may_widen_blocks = true, .made_of = right}, make);
}

absl::StatusOr<FmaProduct> FmaProduct::Load(LoadContext* context, const ConstantProduct& shape,
                                            const Constants& constants, MakeRight make) {
  FmaProduct product = Of(shape, constants);
  PLAIT_ASSIGN_OR_RETURN(const bool is_packed, product.FindPacked(context, constants));
  if (is_packed) return product;
  PLAIT_ASSIGN_OR_RETURN(const float* const right, make());
  product.PackBlocks(context->width(), [&](int64_t matrix, int64_t k, int64_t column, int64_t count,
                                           float* to) {
    const float* const row = right + matrix * constants.matrix_floats + k * shape.right_row_floats;
    for (int64_t n = 0; n < count; ++n) to[n] = row[(column + n) * shape.right_column_floats];
  });
  return product;
}

absl::StatusOr<FmaProduct> FmaProduct::LoadRead(LoadContext* context, const ConstantProduct& shape,
                                                const Constants& constants, ReadRight read) {
  FmaProduct product = Of(shape, constants);
  PLAIT_ASSIGN_OR_RETURN(const bool is_packed, product.FindPacked(context, constants));
  if (!is_packed) product.PackBlocks(context->width(), read);
  return product;
}

absl::StatusOr<FmaProduct> FmaProduct::LoadRows(LoadContext* context, const ConstantProduct& shape,
                                                const Constants& constants, ReadRows read) {
  FmaProduct product = Of(shape, constants);
  PLAIT_ASSIGN_OR_RETURN(const bool is_packed, product.FindPacked(context, constants));
  if (is_packed) return product;
  ForEachPart(context->width(), product.blocks_, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) product.PackRows(block, read);
  });
  return product;
}

// Blocks of a single matrix lie in their order, however many are together.
absl::StatusOr<bool> FmaProduct::FindPacked(LoadContext* context, const Constants& constants) {
  const Fingerprint form = FingerprintBuilder()
                               .Add("fma")
                               .Add(shape_.depth)
                               .Add(shape_.columns)
                               .Add(shape_.right_row_floats)
                               .Add(shape_.right_column_floats)
                               .Add(matrices_)
                               .Add(constants.matrix_floats)
                               .Add(block_columns())
                               .Add(matrices_ == 1 ? 0 : blocks_together_)
                               .Add(constants.made_how)
                               .Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         constants.made_of == kNoTensor
                             ? context->AllocatePacked(weights_bytes(), form)
                             : context->AllocatePackedOf(constants.made_of, weights_bytes(), form));
  weights_ = reinterpret_cast<float*>(place.data);
  return place.is_packed;
}

FmaProduct FmaProduct::Of(const ConstantProduct& shape, const Constants& constants) {
  FmaProduct product;
  product.SetShape(shape, constants.may_widen_blocks);
  product.matrices_ = constants.matrices;
  product.part_depth_ = constants.part_depth;
  product.bias_ = constants.bias;
  const bool are_all_together = constants.blocks_together == 0;
  product.blocks_together_ = are_all_together ? product.blocks_ : constants.blocks_together;
  return product;
}

void FmaProduct::PackBlocks(int threads, ReadRight read) const {
  ForEachPart(threads, matrices_ * blocks_, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end;) {
      const int64_t of_matrix = CeilDiv(block + 1, blocks_) * blocks_;
      const int64_t last = std::min({end, of_matrix, block + kBlocksPackedTogether});
      PackGroup(block, last, read);
      block = last;
    }
  });
}

FmaProduct FmaProduct::OfPacked(const ConstantProduct& shape) {
  FmaProduct product;
  product.SetShape(shape, /*may_widen_blocks=*/false);
  product.blocks_together_ = product.blocks_;
  return product;
}

void FmaProduct::SetShape(const ConstantProduct& shape, bool may_widen_blocks) {
  shape_ = shape;
  left_row_floats_ = shape.depth;
  result_row_floats_ = shape.columns;
  vector_floats_ = VectorFloats();
  if (may_widen_blocks) block_vectors_ = WideBlockVectors(shape.columns, vector_floats_);
  blocks_ = CeilDiv(shape.columns, block_columns());
}

// Row by row, of which each block is a few cache lines.
void FmaProduct::PackGroup(int64_t begin, int64_t end, ReadRight read) const {
  const int64_t matrix = begin / blocks_;
  for (int64_t k = 0; k < shape_.depth; ++k) {
    for (int64_t number = begin; number < end; ++number) {
      const int64_t block = number % blocks_;
      const int64_t count = ColumnsOf(block);
      float* const to = weights_ + PlaceOf(matrix, block) * block_floats() + k * block_columns();
      read(matrix, k, block * block_columns(), count, to);
      std::fill(to + count, to + block_columns(), 0.0f);
    }
  }
}

void FmaProduct::PackRows(int64_t block, ReadRows read) const {
  const int64_t count = ColumnsOf(block);
  std::vector<float*> to;
  for (int64_t matrix = 0; matrix < matrices_; ++matrix) {
    to.push_back(weights_ + PlaceOf(matrix, block) * block_floats());
  }
  for (int64_t k = 0; k < shape_.depth; ++k) {
    read(k, block * block_columns(), count, to);
    for (float*& row : to) {
      std::fill(row + count, row + block_columns(), 0.0f);
      row += block_columns();
    }
  }
}

int64_t FmaProduct::PlaceOf(int64_t matrix, int64_t block) const {
  const int64_t first = block / blocks_together_ * blocks_together_;
  const int64_t together = std::min(blocks_together_, blocks_ - first);
  return first * matrices_ + matrix * together + block - first;
}

int FmaProduct::ColumnsOf(int64_t block) const {
  return static_cast<int>(std::min(block_columns(), shape_.columns - block * block_columns()));
}

const FmaProduct::Tile* FmaProduct::FindTile(int64_t rows, int columns) const {
  const auto found = std::find_if(tiles_.begin(), tiles_.end(), [&](const auto& tile) {
    return tile->rows == rows && tile->columns == columns;
  });
  return found == tiles_.end() ? nullptr : found->get();
}

void FmaProduct::TakeFrom(RowEpilogue* epilogue) {
  added_ = epilogue->TakeAdded();
  has_relu_ = epilogue->TakeRelu();
}

// A step of each tile calls an equal share of a step of the next block, and at least a cache line
// in four steps.
void FmaProduct::PrefetchBlocks(int64_t rows) {
  constexpr int64_t kLeast = 16;
  const int64_t share = CeilDiv(block_columns() * 4, CeilDiv(rows, tile_rows()));
  prefetch_bytes_per_step_ = static_cast<int32_t>(CeilDiv(share, kLeast) * kLeast);
}

absl::Status FmaProduct::AddRows(int64_t rows) {
  const int64_t tiles = CeilDiv(rows, tile_rows());
  for (int64_t number = 0; number < tiles; ++number) {
    const int64_t count = FirstRowOf(number + 1, tiles, rows) - FirstRowOf(number, tiles, rows);
    for (const int64_t block : {int64_t{0}, blocks_ - 1}) {
      PLAIT_RETURN_IF_ERROR(AddTile(static_cast<int>(count), ColumnsOf(block)));
    }
  }
  return absl::OkStatus();
}

absl::Status FmaProduct::AddTile(int rows, int columns) {
  if (FindTile(rows, columns) != nullptr) return absl::OkStatus();
  const FmaTile tile{.vector_floats = vector_floats_,
                     .rows = rows,
                     .columns = columns,
                     .depth = shape_.depth,
                     .part_depth = part_depth_,
                     .left_row_bytes = static_cast<int32_t>(left_row_floats_ * 4),
                     .right_row_bytes = static_cast<int32_t>(block_columns() * 4),
                     .result_row_bytes = static_cast<int32_t>(result_row_floats_ * 4),
                     .added_row_bytes = static_cast<int32_t>(added_.apart_floats * 4),
                     .has_bias = bias_ != nullptr,
                     .has_added = added_.data != nullptr,
                     .has_relu = has_relu_,
                     .prefetch_bytes_per_step = prefetch_bytes_per_step_};
  PLAIT_ASSIGN_OR_RETURN(LoadedMicrokernel microkernel,
                         LoadedMicrokernel::Load(FmaMicrokernel(tile)));
  tiles_.push_back(std::make_unique<Tile>(Tile{rows, columns, std::move(microkernel)}));
  return absl::OkStatus();
}

// Each block of columns stays in the second cache for all rows.
absl::Status FmaProduct::Run(const Piece& piece) const {
  for (int64_t block = piece.first; block < piece.last; ++block) {
    PLAIT_RETURN_IF_ERROR(
        RunBlock(piece, block, piece.result + (block - piece.first) * block_columns()));
  }
  return absl::OkStatus();
}

absl::Status FmaProduct::RunBlock(const Piece& piece, int64_t block, float* result) const {
  const int columns = ColumnsOf(block);
  const int64_t place = PlaceOf(piece.matrix, block);
  const float* const right = piece.right != nullptr ? piece.right : weights_;
  const int64_t next = std::min(place + 1, matrices_ * blocks_ - 1);
  const int64_t tiles = CeilDiv(piece.rows, tile_rows());
  for (int64_t number = 0; number < tiles; ++number) {
    const int64_t row = FirstRowOf(number, tiles, piece.rows);
    const int64_t count = FirstRowOf(number + 1, tiles, piece.rows) - row;
    const Tile* const tile = FindTile(count, columns);
    PLAIT_CHECK(tile != nullptr);
    MicroOperand operands[kMicroPointers] = {
        OperandOf(piece.left + row * left_row_floats_,
                  (count - 1) * left_row_floats_ + shape_.depth),
        OperandOf(right + place * block_floats(), block_floats()),
        OperandOf(result + row * result_row_floats_, (count - 1) * result_row_floats_ + columns)};
    operands[2].is_written = true;
    size_t size = 3;
    if (bias_ != nullptr) operands[size++] = OperandOf(bias_ + block * block_columns(), columns);
    if (added_.data != nullptr) {
      const float* const added = added_.data + (piece.result_row + row) * added_.apart_floats;
      operands[size++] =
          OperandOf(added + block * block_columns(), (count - 1) * added_.apart_floats + columns);
    }
    if (prefetch_bytes_per_step_ > 0) {
      const int64_t called = number * shape_.depth * prefetch_bytes_per_step_ / 4;
      operands[size++] = OperandOf(weights_ + next * block_floats() + called % block_floats(), 0);
    }
    PLAIT_RETURN_IF_ERROR(tile->microkernel.Run(absl::MakeConstSpan(operands, size)));
  }
  return absl::OkStatus();
}

}  // namespace plait
