#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

// [128, 768] times [768, 3072] by two threads: a chunk is 4 blocks of 32 columns for all rows, and
// each thread reads its half of the 9 MiB of weights once, from front to back; while ten tiles of
// rows use a block of 96 KiB, the next one is called into the second cache.
// [3136, 256] times [256, 64] has more rows than columns: a chunk is 112 rows for all columns,
// whose 64 KiB of weights stay in the second cache.

namespace plait {
namespace {

// A first cache has eight places for all lines that lie a multiple of 4 KiB apart. Where more of
// the 14 rows of a tile meet there than these, the rows drive each other away in every step, and
// are copied further apart before they are multiplied.
constexpr int64_t kBytesThatMeet = 4096;
constexpr int64_t kRowsThatMeetMax = 6;  // the other matrix needs places too
constexpr int64_t kRowFloatsApart = 16;

int64_t LeftRowFloats(const ConstantProduct& shape, int64_t tile_rows) {
  const int64_t places = kBytesThatMeet / std::gcd(shape.depth * 4, kBytesThatMeet);
  const bool meet = std::min(shape.rows, tile_rows) > kRowsThatMeetMax * places;
  return meet ? shape.depth + kRowFloatsApart : shape.depth;
}

// Tiles of rows in a chunk.
constexpr int64_t kChunkTilesMax = 8;
constexpr int64_t kChunkBlocksMax = 4;

class FmaKernel : public CpuKernel {
 public:
  struct Ends {
    const float* source = nullptr;
    float* result = nullptr;
  };

  FmaKernel(int width, const ConstantProduct& shape, const Ends& ends, FmaProduct product,
            RowEpilogue epilogue)
      : width_(width),
        shape_(shape),
        ends_(ends),
        product_(std::move(product)),
        epilogue_(std::move(epilogue)),
        runner_(width),
        chunk_rows_(shape.rows),
        chunk_blocks_(product_.blocks()),
        left_row_floats_(LeftRowFloats(shape, product_.tile_rows())) {
    if (shape.rows > shape.columns) {
      const int64_t tile = product_.tile_rows();
      chunk_rows_ =
          tile * std::clamp<int64_t>(shape.rows / (int64_t{4} * width * tile), 1, kChunkTilesMax);
    } else {
      chunk_blocks_ =
          std::clamp<int64_t>(product_.blocks() / (int64_t{4} * width), 1, kChunkBlocksMax);
      product_.PrefetchBlocks(shape.rows);
    }
  }

  // Makes the code, and room for what is copied.
  absl::Status Prepare(LoadContext* context) {
    if (left_row_floats_ > shape_.depth) {
      product_.set_left_row_floats(left_row_floats_);
      PLAIT_ASSIGN_OR_RETURN(std::byte* const rows,
                             context->AllocateScratch(shape_.rows * left_row_floats_ * 4));
      copied_ = reinterpret_cast<float*>(rows);
    }
    PLAIT_RETURN_IF_ERROR(product_.AddRows(std::min(chunk_rows_, shape_.rows)));
    return product_.AddRows(shape_.rows % chunk_rows_);
  }

  absl::Status Run() override {
    if (copied_ != nullptr) CopyRows();
    const int64_t chunks =
        CeilDiv(shape_.rows, chunk_rows_) * CeilDiv(product_.blocks(), chunk_blocks_);
    return runner_.Run(chunks, [&](int64_t begin, int64_t end, int) -> absl::Status {
      for (int64_t chunk = begin; chunk < end; ++chunk) PLAIT_RETURN_IF_ERROR(RunChunk(chunk));
      return absl::OkStatus();
    });
  }

 private:
  void CopyRows() const {
    ForEachPart(width_, shape_.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        std::copy_n(ends_.source + row * shape_.depth, shape_.depth,
                    copied_ + row * left_row_floats_);
      }
    });
  }

  // Chunks have all rows, or all blocks.
  absl::Status RunChunk(int64_t chunk) const {
    const bool is_by_rows = chunk_rows_ < shape_.rows;
    const int64_t row = is_by_rows ? chunk * chunk_rows_ : 0;
    const int64_t rows = std::min(chunk_rows_, shape_.rows - row);
    const int64_t first = is_by_rows ? 0 : chunk * chunk_blocks_;
    const int64_t last = std::min(product_.blocks(), first + chunk_blocks_);
    const float* const left = copied_ != nullptr ? copied_ : ends_.source;
    float* const result = ends_.result + row * shape_.columns;
    PLAIT_RETURN_IF_ERROR(product_.Run({.left = left + row * left_row_floats_,
                                        .rows = rows,
                                        .first = first,
                                        .last = last,
                                        .result = result}));
    if (is_by_rows) {
      epilogue_.ApplyToRows(result, row, rows);
      return absl::OkStatus();
    }
    const int64_t begin = first * product_.block_columns();
    const int64_t end = std::min(shape_.columns, last * product_.block_columns());
    for (int64_t i = 0; i < rows; ++i) {
      epilogue_.Apply(result + i * shape_.columns + begin, row + i, begin, end - begin);
    }
    return absl::OkStatus();
  }

  const int width_;
  const ConstantProduct shape_;
  const Ends ends_;
  FmaProduct product_;
  const RowEpilogue epilogue_;
  ChunkRunner runner_;
  int64_t chunk_rows_;
  int64_t chunk_blocks_;
  const int64_t left_row_floats_;
  float* copied_ = nullptr;  // scratch: the source's rows, where they are copied
};

}  // namespace

// MatMul and Gemm by a constant matrix, in fp32 (see fma_product.h).
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulFma(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulFmaOffer.runs(graph, nodes[0])) return context->Refuse();
  const ConstantProduct shape = *ConstantProductAt(graph, nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kPlain, shape.columns));
  PLAIT_ASSIGN_OR_RETURN(const Tensor values,
                         context->ConstantValue(graph.node(nodes[0]).inputs[1]));
  const auto* const right = reinterpret_cast<const float*>(values.bytes().data());
  PLAIT_ASSIGN_OR_RETURN(
      FmaProduct product,
      FmaProduct::Load(context, shape, {.right = right, .bias = layer.epilogue.bias()}));
  auto kernel = std::make_unique<FmaKernel>(
      context->width(), shape, FmaKernel::Ends{layer.source.floats(), layer.result.floats()},
      std::move(product), std::move(layer.epilogue));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

}  // namespace plait
