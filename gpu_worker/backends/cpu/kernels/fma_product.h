#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/kernels/loaded_microkernel.h"
#include "gpu_worker/backends/cpu/microkernel/fma_microkernel.h"
#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Products of rows of floats, which lie beside each other, with a constant matrix, in fp32 (see
// fma_microkernel.h): result = left * right + bias, by tiles of rows and blocks of columns. Free of
// state once it is loaded, so that threads may compute different rows and blocks.
class FmaProduct {
 public:
  // Packs the matrix `right`, by as many threads as the kernel is wide. `bias` has a float per
  // column, or is nullptr. Runs by AVX-512, else by AVX2, else interpreted.
  // Errors: ResourceExhausted.
  static absl::StatusOr<FmaProduct> Load(LoadContext* context, const ConstantProduct& shape,
                                         const float* right, const float* bias);

  // Lets Run call the next block of columns into the second cache while it uses one for so many
  // rows. To be called before AddRows.
  void PrefetchBlocks(int64_t rows);

  // Makes the code for products of so many rows. To be called before Run with as many.
  // Errors: those of LoadedMicrokernel::Load.
  absl::Status AddRows(int64_t rows);

  // Rows of a tile: products of whole ones cost the least for each row.
  int tile_rows() const { return FmaRowsMax(vector_floats_); }
  int64_t blocks() const { return blocks_; }
  int64_t block_columns() const { return 2 * int64_t{vector_floats_}; }
  // The numbers of all blocks.
  int64_t weights_bytes() const { return blocks_ * block_floats() * 4; }

  // Computes blocks of columns from `first` to `last` of so many rows; `result` is column 0 of the
  // first row, and the rows of the result lie beside each other.
  // Errors: of interpreted code those of Interpret.
  absl::Status Run(const float* left, int64_t rows, int64_t first, int64_t last,
                   float* result) const;

 private:
  // The code for one size of tiles.
  struct Tile {
    int rows;
    int columns;
    LoadedMicrokernel microkernel;
  };

  int64_t block_floats() const { return shape_.depth * block_columns(); }
  int ColumnsOf(int64_t block) const;
  void PackBlock(const float* right, int64_t block) const;
  const Tile* FindTile(int64_t rows, int columns) const;
  absl::Status AddTile(int rows, int columns);

  ConstantProduct shape_;
  int vector_floats_ = 16;
  int64_t blocks_ = 0;
  int32_t prefetch_bytes_per_step_ = 0;
  float* weights_ = nullptr;  // [block][depth][block_columns()]
  const float* bias_ = nullptr;
  std::vector<std::unique_ptr<Tile>> tiles_;
};

}  // namespace plait
