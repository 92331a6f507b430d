#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/digit_weights.h"
#include "gpu_worker/backends/cpu/kernels/loaded_microkernel.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"

namespace plait {

// What products and convolutions in digits have in common (see digit_microkernel.h): they multiply
// digits of their first input by packed weights, tile by tile, and each tile is joined to floats,
// while it is in the first cache, in rows of the result, a float per column.
class DigitLayer {
 public:
  // Rows of a tile, at most two pieces of up to 16 rows each.
  struct Piece {
    int8_t* digits;           // of the first row and step
    int64_t digits_bytes;     // that may be read from there
    const float* row_scales;  // by row
    int rows;                 // that count; the microkernel may multiply more
    float* result;            // of the first row and column 0
  };
  // Numbers and memory of one thread.
  struct Lane {
    std::byte* sums;
    MicrokernelTiles tiles;
  };

  // Reads the kernel: the first node with its first input and constant bias, the others as
  // epilogue, and the variant, "x" and the number of products. Source and result lie in `format`,
  // and the result has rows of `columns` floats. Errors: InvalidArgument (LoadContext::Refuse) for
  // another epilogue, format or variant.
  static absl::StatusOr<DigitLayer> Read(LoadContext* context, Format format, int64_t columns);

  int planes() const { return planes_; }
  const float* source() const { return source_; }
  float* result() const { return result_; }
  const DigitWeights& weights() const { return weights_; }

  // Packs what is multiplied by, the node's second input, of which `read` writes a column of
  // `steps` times 64 numbers from the tensor's. See DigitWeights::Pack.
  absl::Status PackWeights(
      LoadContext* context, int64_t steps,
      absl::FunctionRef<void(const float* values, int64_t column, float* numbers)> read);

  // Makes the code for tiles of these rows and steps, for all columns. `tile` has what left sides
  // have. Called for each number of rows that there are.
  // Errors: those of LoadedMicrokernel::Load.
  absl::Status AddTile(DigitTile tile);

  // Memory for the sums of as many threads as the kernel is wide. Errors: ResourceExhausted.
  absl::Status AllocateSums(LoadContext* context);

  // Calls run(chunk, thread, lane) for each of so many chunks, by those threads.
  // Errors: the first of a thread that had one, which then runs no more chunks.
  absl::Status RunChunks(
      int64_t chunks, absl::FunctionRef<absl::Status(int64_t chunk, int thread, Lane& lane)> run);

  // Multiplies the pieces by a block of columns and writes the result's rows, without the epilogue.
  // `turn` counts the tiles in a row that use this block, each of which calls its share of the next
  // one.
  // REQUIRES: a tile was added of these numbers of rows.
  absl::Status Multiply(absl::Span<const Piece> pieces, const int (&tile_rows)[2], int64_t block,
                        int64_t turn, Lane& lane) const;

  // Adds x times the packed numbers at place k of the steps to a row of the result, in blocks from
  // `first` up to `last`. For numbers that no digits stand for.
  void AddNumber(float x, int64_t k, int64_t first, int64_t last, float* result) const;

  // The bias in those columns of a row of the result, where nothing was multiplied.
  void Begin(int64_t first, int64_t last, float* result) const;

  // Columns in [begin, end) of a row of the result, after Multiply.
  void Finish(int64_t row, int64_t begin, int64_t end) const {
    epilogue_.Apply(result_ + row * columns_ + begin, row, begin, end - begin);
  }

 private:
  // The code for one size of tiles.
  struct Tile {
    DigitTile shape;
    LoadedMicrokernel microkernel;
  };

  int products_ = 6;
  int planes_ = 3;
  int levels_ = 3;
  int64_t columns_ = 0;
  int64_t steps_ = 0;
  const float* source_ = nullptr;
  float* result_ = nullptr;
  RowEpilogue epilogue_;
  DigitWeights weights_;
  std::vector<std::unique_ptr<Tile>> tiles_;
  std::byte* sums_ = nullptr;
  int64_t sums_bytes_ = 0;  // of one thread
  ChunkRunner runner_{1};
};

}  // namespace plait
