#pragma once

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "gpu_worker/backends/cpu/kernels/loaded_microkernel.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/microkernel/fma_microkernel.h"
#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Products of rows of floats with one or more constant matrices of a shape, in fp32 (see
// fma_microkernel.h): result = left * right + bias, by tiles of rows and blocks of columns. Free of
// state once it is loaded, so that threads may compute different rows and blocks.
class FmaProduct {
 public:
  struct Constants {
    int64_t matrices = 1;
    int64_t matrix_floats = 0;    // from one to the next, where one lies behind the other
    const float* bias = nullptr;  // a float per column; nullptr: none
    int64_t part_depth = 0;       // see FmaTile
    // So many blocks of one matrix, then the same of the next one, are multiplied one after the
    // other, and lie so; 0: all.
    int64_t blocks_together = 0;
    // Whether a block of columns may have three vectors in the place of two.
    bool may_widen_blocks = false;
    // The constant that the matrices are made of, and how, where that says all of it
    // (LoadContext::AllocatePackedOf); kNoTensor: they are made of what the kernel reads.
    TensorId made_of = kNoTensor;
    Fingerprint made_how = {};
  };

  // What to multiply: `rows` rows, by the blocks of columns from `first` to `last` of a matrix.
  struct Piece {
    const float* left = nullptr;
    int64_t rows = 0;
    int64_t matrix = 0;
    int64_t first = 0;
    int64_t last = 0;
    float* result = nullptr;  // of the first row and block
    int64_t result_row = 0;   // the number of the first row in what the epilogue reads
    // In the place of the product's own matrix: as RightAt, all blocks one after the other.
    const float* right = nullptr;
  };

  // Gives the matrices, which lie one after the other until the product is loaded. Asked where
  // nobody has packed them only: made of the constant, or of all that the kernel has, always in the
  // same way.
  using MakeRight = absl::FunctionRef<absl::StatusOr<const float*>()>;
  // Packs the matrices, by as many threads as the kernel is wide. Runs by AVX-512, else by AVX2,
  // else interpreted.
  // Errors: ResourceExhausted; those of `make`.
  static absl::StatusOr<FmaProduct> Load(LoadContext* context, const ConstantProduct& shape,
                                         const Constants& constants, MakeRight make);

  // The same of one constant matrix, in blocks of WideBlockColumns. `bias` as in Constants.
  static absl::StatusOr<FmaProduct> LoadMatrix(LoadContext* context, const ConstantProduct& shape,
                                               TensorId right, const float* bias);

  // Writes `count` numbers of row k of a matrix, from `column` on. Called by several threads.
  using ReadRight =
      absl::FunctionRef<void(int64_t matrix, int64_t k, int64_t column, int64_t count, float* to)>;
  // The same of matrices that `read` gives, number by number.
  static absl::StatusOr<FmaProduct> LoadRead(LoadContext* context, const ConstantProduct& shape,
                                             const Constants& constants, ReadRight read);

  // Writes `count` numbers of row k of every matrix, from `column` on: of matrix m to to[m]. Called
  // by several threads.
  using ReadRows = absl::FunctionRef<void(int64_t k, int64_t column, int64_t count,
                                          absl::Span<float* const> to)>;
  // The same of matrices whose numbers at one place are made together.
  static absl::StatusOr<FmaProduct> LoadRows(LoadContext* context, const ConstantProduct& shape,
                                             const Constants& constants, ReadRows read);

  // Of matrices that are no constants: whoever runs it packs them (Piece::right).
  static FmaProduct OfPacked(const ConstantProduct& shape);

  // From one row of what is multiplied to the next; without it they lie beside each other. To be
  // called before AddRows.
  void set_left_row_floats(int64_t floats) { left_row_floats_ = floats; }
  // The same of the result.
  void set_result_row_floats(int64_t floats) { result_row_floats_ = floats; }

  // Lets Run do with a tile's sums, while they are in registers, what the epilogue begins with and
  // the tile can: it takes that away. To be called before AddRows.
  void TakeFrom(RowEpilogue* epilogue);

  // Lets Run call the next block of columns into the second cache while it uses one for so many
  // rows. To be called before AddRows.
  void PrefetchBlocks(int64_t rows);

  // Makes the code for products of so many rows. To be called before Run with as many.
  // Errors: those of LoadedMicrokernel::Load.
  absl::Status AddRows(int64_t rows);

  // Rows of a tile at most: products of whole ones cost the least for each row.
  int tile_rows() const { return FmaRowsMax(vector_floats_, block_vectors_); }
  int64_t blocks() const { return blocks_; }  // of a matrix
  int64_t block_columns() const { return block_vectors_ * int64_t{vector_floats_}; }
  // Of a product that is loaded now with blocks of two vectors.
  static int64_t BlockColumns();
  // The same with blocks that may be wider, of a matrix with so many columns.
  static int64_t WideBlockColumns(int64_t columns);
  // The numbers of all blocks of all matrices.
  int64_t weights_bytes() const { return matrices_ * packed_floats() * 4; }

  int64_t packed_floats() const { return blocks_ * block_floats(); }  // of a matrix

  // A block of a matrix: [depth][block_columns()], zeros behind the last column.
  const float* RightAt(int64_t matrix, int64_t block) const {
    return weights_ + PlaceOf(matrix, block) * block_floats();
  }

  // Errors: of interpreted code those of Interpret.
  absl::Status Run(const Piece& piece) const;

 private:
  // The code for one size of tiles.
  struct Tile {
    int rows;
    int columns;
    LoadedMicrokernel microkernel;
  };

  static FmaProduct Of(const ConstantProduct& shape, const Constants& constants);
  // Whether another executable has packed the matrices already.
  absl::StatusOr<bool> FindPacked(LoadContext* context, const Constants& constants);
  void SetShape(const ConstantProduct& shape, bool may_widen_blocks);
  void PackBlocks(int threads, ReadRight read) const;
  int64_t block_floats() const { return shape_.depth * block_columns(); }
  int ColumnsOf(int64_t block) const;
  // Among the blocks of all matrices.
  int64_t PlaceOf(int64_t matrix, int64_t block) const;
  // `number` counts the blocks of one matrix after the other.
  // Blocks of one matrix, by number among all.
  void PackGroup(int64_t begin, int64_t end, ReadRight read) const;
  // A block of each matrix.
  void PackRows(int64_t block, ReadRows read) const;
  absl::Status RunBlock(const Piece& piece, int64_t block, float* result) const;
  const Tile* FindTile(int64_t rows, int columns) const;
  absl::Status AddTile(int rows, int columns);

  ConstantProduct shape_;
  int64_t left_row_floats_ = 0;
  int64_t result_row_floats_ = 0;
  int64_t matrices_ = 1;
  int64_t blocks_together_ = 0;
  int64_t part_depth_ = 0;
  int vector_floats_ = 16;
  int block_vectors_ = 2;
  int64_t blocks_ = 0;
  int32_t prefetch_bytes_per_step_ = 0;
  RowEpilogue::Added added_;
  bool has_relu_ = false;
  float* weights_ = nullptr;  // [PlaceOf][depth][block_columns()]
  const float* bias_ = nullptr;
  std::vector<std::unique_ptr<Tile>> tiles_;
};

}  // namespace plait
