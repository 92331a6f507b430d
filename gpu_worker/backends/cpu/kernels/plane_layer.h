#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/loaded_microkernel.h"
#include "gpu_worker/backends/cpu/kernels/plane_weights.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/microkernel/plane_tile.h"

namespace plait {

// What products and convolutions in planes have in common (see plane_tile.h): they multiply planes
// of their first input by packed weights, tile by tile, and each tile is written as floats, while
// it is in the first cache, to rows of the result, a float per column. Which numbers the planes
// are made of is a derived class's: DigitLayer, Bf16Layer.
class PlaneLayer {
 public:
  static constexpr int64_t kStepBytes = PlaneWeights::kStepBytes;

  // Rows of a tile, at most two pieces of up to 16 rows each.
  struct Piece {
    std::byte* planes;        // of the first row and step
    int64_t planes_bytes;     // that may be read from there
    const float* row_scales;  // by row; nullptr where planes have none
    int rows;                 // that count; the microkernel may multiply more
    float* result;            // of the first row and column 0
  };
  // Numbers and memory of one thread.
  struct Lane {
    std::byte* sums;
    MicrokernelTiles tiles;
    // Whether everything that was multiplied in this chunk is finite, where rows have no scales.
    bool is_finite = true;
  };

  virtual ~PlaneLayer() = default;

  int planes() const { return PlanesOf(products_); }
  // Of a number in a plane.
  int64_t number_bytes() const { return number_bytes_; }
  int64_t step_numbers() const { return kStepBytes / number_bytes_; }
  // Whether rows are written by a scale, which none may have (kNoDigitScale), and numbers beside it
  // (outliers). Without, a row's products are right wherever they are finite.
  bool has_scales() const { return has_scales_; }
  const float* source() const { return source_; }
  float* result() const { return result_; }
  virtual const PlaneWeights& weights() const = 0;

  // Packs what is multiplied by, the node's second input, of which `read` writes a column of
  // `steps` times step_numbers() numbers from the tensor's; `how` says which. See
  // PlaneWeights::PackColumns.
  absl::Status PackWeights(
      LoadContext* context, int64_t steps, const Fingerprint& how,
      absl::FunctionRef<void(const float* values, int64_t column, float* numbers)> read);

  // Makes the code for tiles of these rows and steps, for all columns. `tile` has what left sides
  // have. Called for each number of rows that there are.
  // Errors: those of LoadedMicrokernel::Load.
  absl::Status AddTile(PlaneTile tile);

  // Memory for the sums of as many threads as the kernel is wide. Errors: ResourceExhausted.
  absl::Status AllocateSums(LoadContext* context);

  // Calls run(chunk, thread, lane) for each of so many chunks, by those threads.
  // Errors: the first of a thread that had one, which then runs no more chunks.
  absl::Status RunChunks(
      int64_t chunks, absl::FunctionRef<absl::Status(int64_t chunk, int thread, Lane& lane)> run);

  // Writes rows as planes.
  virtual void Split(const PlaneRows& rows) const = 0;

  // Multiplies the pieces by a block of columns and writes the result's rows, without the epilogue.
  // `turn` counts the tiles in a row that use this block, each of which calls its share of the next
  // one.
  // REQUIRES: a tile was added of these numbers of rows.
  absl::Status Multiply(absl::Span<const Piece> pieces, const int (&tile_rows)[2], int64_t block,
                        int64_t turn, Lane& lane) const;

  // Adds x times the packed numbers at place k of the steps to a row of the result, in blocks from
  // `first` up to `last`. For numbers that no planes stand for.
  void AddNumber(float x, int64_t k, int64_t first, int64_t last, float* result) const;

  // The bias in those columns of a row of the result, where nothing was multiplied.
  void Begin(int64_t first, int64_t last, float* result) const;

  // Whether a row of the result, after Multiply, is finite in those columns.
  bool IsFinite(int64_t first, int64_t last, const float* result) const;

  // Columns in [begin, end) of a row of the result, after Multiply.
  void Finish(int64_t row, int64_t begin, int64_t end) const {
    epilogue_.Apply(result_ + row * columns_ + begin, row, begin, end - begin);
  }

 protected:
  PlaneLayer(int64_t number_bytes, bool has_scales)
      : number_bytes_(number_bytes), has_scales_(has_scales) {}

  // Reads the kernel: the first node with its first input and constant bias, the others as
  // epilogue, and the variant, "x" and the number of products, one of those. Source and result lie
  // in `format`, and the result has rows of `columns` floats. Errors: InvalidArgument
  // (LoadContext::Refuse) for another epilogue, format or variant.
  absl::Status Read(LoadContext* context, Format format, int64_t columns,
                    absl::Span<const int> products);

  int products() const { return products_; }
  int64_t columns() const { return columns_; }
  // nullptr, or of a block.
  const float* BiasOf(int64_t block) const {
    return epilogue_.bias() == nullptr ? nullptr
                                       : epilogue_.bias() + block * PlaneWeights::kBlockColumns;
  }

 private:
  // The code for one size of tiles.
  struct Tile {
    PlaneTile shape;
    LoadedMicrokernel microkernel;
  };

  virtual absl::Status Pack(LoadContext* context, const PlaneWeights::Shape& shape,
                            absl::FunctionRef<void(int64_t column, float* numbers)> read) = 0;
  virtual Microkernel ListOf(const PlaneTile& tile) const = 0;
  // Of 32 bits each.
  virtual int64_t SumCountOf(const PlaneTile& tile) const = 0;
  // Writes a piece's rows of a block, with the bias. False where rows have no scales and something
  // is not finite.
  virtual bool Join(const PlaneTile& tile, int piece_index, const Piece& piece, int64_t block,
                    const std::byte* sums) const = 0;
  // As AddNumber, of a block, with whose first column y begins.
  virtual void AddToBlock(float x, int64_t k, int64_t block, float* y) const = 0;

  const int64_t number_bytes_;
  const bool has_scales_;
  int products_ = 6;
  int64_t columns_ = 0;
  int64_t steps_ = 0;
  const float* source_ = nullptr;
  float* result_ = nullptr;
  RowEpilogue epilogue_;
  std::vector<std::unique_ptr<Tile>> tiles_;
  std::byte* sums_ = nullptr;
  int64_t sums_bytes_ = 0;  // of one thread
  ChunkRunner runner_{1};
};

}  // namespace plait
