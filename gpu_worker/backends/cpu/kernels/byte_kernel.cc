#include "gpu_worker/backends/cpu/kernels/byte_kernel.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/byte_depthwise.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/integer_checks.h"

// A convolution of [1, 64, 28, 28] by [128, 64, 3, 3]: what lies under a window is three segments
// of 192 bytes of the image, a line of the window each, in which channels lie beside each other: a
// row of the left side of a product, which is never copied. The image is, with its padding, where
// it has any. A piece of work is 96 pixels by 64 channels of the result, in tiles of six pixels,
// which end as bytes: no sum is written to memory.
//
// Bytes are multiplied as they are, zero points and all, and what the zero point of the image adds
// to a sum is taken off with the bias.

namespace plait {
namespace {

constexpr int64_t kBytePiecePixels = 96;
constexpr int64_t kBlock = kByteColumns * kByteTileVectorsMax;

// Where the windows of consecutive pixels begin. What is flat is a line.
class WindowCursor {
 public:
  WindowCursor(const ByteLayer& layer, const uint8_t* source, int64_t pixel)
      : columns_(layer.is_flat() ? std::numeric_limits<int64_t>::max() : layer.window[1].output),
        step_(layer.window[1].stride * layer.pixel_channels()),
        line_step_(layer.window[0].stride * layer.line_numbers() * layer.pixel_channels()),
        line_(source + pixel / columns_ * line_step_),
        x_(pixel % columns_) {}

  const uint8_t* Next() {
    const uint8_t* const window = line_ + x_ * step_;
    if (++x_ == columns_) {
      x_ = 0;
      line_ += line_step_;
    }
    return window;
  }

 private:
  int64_t columns_;
  int64_t step_;
  int64_t line_step_;
  const uint8_t* line_;
  int64_t x_;
};

class ByteKernel : public CpuKernel {
 public:
  // `is_known`: scales, zero points and bias are constants.
  ByteKernel(int threads, ByteLayer layer, bool is_known)
      : threads_(threads),
        layer_(std::move(layer)),
        result_bytes_(BytesOf(layer_.result.type.dtype)),
        is_known_(is_known),
        channel_factors_(layer_.groups * layer_.channels),
        addends_(layer_.padded_channels()),
        factors_(layer_.padded_channels()) {
    for (int thread = 0; layer_.is_depthwise() && thread < threads_; ++thread) {
      lines_.emplace_back(layer_, thread);
    }
    if (is_known_) SetAddendsAndFactors();
  }

  absl::Status Run() override {
    if (!is_known_) SetAddendsAndFactors();
    const int64_t images = layer_.is_flat() ? 1 : layer_.batch;
    pixels_ = layer_.is_flat() ? layer_.batch * layer_.pixels() : layer_.pixels();
    for (int64_t image = 0; image < images; ++image) {
      source_ = BytesAt(layer_.source) + image * layer_.image_bytes();
      if (layer_.copies()) CopyImage();
      uint8_t* const y = reinterpret_cast<uint8_t*>(layer_.result.data) +
                         image * pixels_ * layer_.groups * layer_.channels * result_bytes_;
      if (layer_.is_depthwise()) {
        RunDepthwise(y);
      } else {
        RunPieces(y);
      }
    }
    return absl::OkStatus();
  }

 private:
  // By place of a channel. Modulo 2^32, as sums are.
  void SetAddendsAndFactors() {
    layer_.SetFactors(absl::MakeSpan(channel_factors_));
    const auto zero_point =
        static_cast<uint32_t>(layer_.source_zero_point.integer(0) + layer_.source_offset());
    for (int64_t m = 0; m < layer_.groups * layer_.channels; ++m) {
      const int64_t place = layer_.PlaceOf(m);
      const auto weights = static_cast<uint32_t>(layer_.weight_sums[m]);
      const auto bias = static_cast<uint32_t>(layer_.bias.integer(m));
      addends_[place] = static_cast<int32_t>(bias - zero_point * weights);
      factors_[place] = channel_factors_[m];
    }
  }

  // With padding of zeros, which the zero point stands for. What is flat has no padding, and is one
  // image of as many pixels as all have.
  void CopyImage() {
    const WindowAxis& rows = layer_.window[0];
    const WindowAxis& columns = layer_.window[1];
    const int64_t channels = layer_.pixel_channels();
    const int64_t line = layer_.line_numbers() * channels;
    const auto zero = static_cast<uint8_t>(layer_.source_zero_point.integer(0));
    const int64_t lines = layer_.lines() * (layer_.is_flat() ? layer_.batch : 1);
    ForEachPart(threads_, lines, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        uint8_t* to = layer_.image + i * line;
        const int64_t y = i - rows.pad_begin;
        if (!layer_.is_flat() && (y < 0 || y >= rows.input)) {
          std::memset(to, zero, line);
          continue;
        }
        const int64_t bytes = columns.input * channels;
        std::memset(to, zero, columns.pad_begin * channels);
        to += columns.pad_begin * channels;
        std::memcpy(to, source_ + y * bytes, bytes);
        std::memset(to + bytes, zero, columns.pad_end * channels);
      }
    });
    source_ = layer_.image;
  }

  ByteResult ResultFrom(int64_t place) const {
    const bool is_bytes = result_bytes_ == 1;
    return {addends_.data() + place, is_bytes ? factors_.data() + place : nullptr, layer_.range()};
  }

  // A piece is a line of the result for a block of channels. What lies under a window is read where
  // it is; lines above and below the image are one of padding.
  void RunDepthwise(uint8_t* y) {
    const auto zero = static_cast<uint8_t>(layer_.source_zero_point.integer(0));
    std::memset(layer_.padding, zero, layer_.window[1].input * layer_.groups);
    const int64_t blocks = CeilDiv(layer_.groups, kBlock);
    const int64_t pieces = layer_.window[0].output * blocks;
    ForEachPart(threads_, pieces, [&](int64_t begin, int64_t end, int thread) {
      ByteDepthwiseLine& line = lines_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kBlock;
        uint8_t* const y_line = y + i / blocks * layer_.window[1].output * layer_.groups + first;
        line.Run(source_, i / blocks, first, ResultFrom(first), y_line);
        if (layer_.addend) AddToLine(y_line, std::min(kBlock, layer_.groups - first));
      }
    });
  }

  // To some channels of each pixel of a line.
  void AddToLine(uint8_t* y, int64_t channels) const {
    for (int64_t x = 0; x < layer_.window[1].output; ++x) {
      layer_.AddBytes(reinterpret_cast<std::byte*>(y + x * layer_.groups), channels);
    }
  }

  // Parts of the pixels, as equal as whole tiles let them be, each by a block of channels.
  void RunPieces(uint8_t* y) const {
    const int64_t blocks = CeilDiv(layer_.channels, kBlock);
    const int64_t parts = CeilDiv(pixels_, kBytePiecePixels);
    const int64_t tile_rows = ByteTileRows(kByteTileVectorsMax);
    const int64_t part = CeilDiv(CeilDiv(pixels_, parts), tile_rows) * tile_rows;
    ForEachPart(threads_, CeilDiv(pixels_, part) * blocks, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / blocks * part;
        RunPiece(first, std::min(first + part, pixels_), i % blocks, y);
      }
    });
  }

  void RunPiece(int64_t first, int64_t last, int64_t block, uint8_t* y) const {
    const int64_t column = block * kBlock;
    const int64_t columns = std::min(kBlock, layer_.channels - column);
    ByteTile tile = {.flip = layer_.flip(),
                     .vectors = static_cast<int>(CeilDiv(columns, kByteColumns)),
                     .columns = static_cast<int>(columns),
                     .right = layer_.weights + block * layer_.block_bytes(),
                     .quads = layer_.quads,
                     .segments = layer_.segments.data(),
                     .segment_count = static_cast<int64_t>(layer_.segments.size()),
                     .result = ResultFrom(column)};
    AddedBytes added;
    if (layer_.addend) {
      added.is_signed = layer_.addend->bytes.type.dtype == DataType::kInt8;
      added.sum = layer_.addend->sum;
      tile.added = &added;
    }
    const int64_t rows_max = ByteTileRows(tile.vectors);
    WindowCursor windows(layer_, source_, first);
    for (int64_t pixel = first; pixel < last; pixel += tile.rows) {
      tile.rows = static_cast<int>(std::min(rows_max, last - pixel));
      for (int row = 0; row < tile.rows; ++row) {
        tile.left[row] = windows.Next();
        tile.y[row] = y + ((pixel + row) * layer_.channels + column) * result_bytes_;
        if (!layer_.addend) continue;
        added.rows[row] = layer_.AddendAt(reinterpret_cast<const std::byte*>(tile.y[row]));
      }
      layer_.loops->tile(tile);
    }
  }

  int threads_;
  ByteLayer layer_;
  int64_t result_bytes_;  // of a number
  bool is_known_;
  std::vector<float> channel_factors_;    // by channel
  std::vector<int32_t> addends_;          // by place of a channel
  std::vector<float> factors_;            // likewise
  std::vector<ByteDepthwiseLine> lines_;  // of each thread, where the layer is depthwise
  int64_t pixels_ = 0;                    // of the image that is being convolved
  const uint8_t* source_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> MakeByteKernel(LoadContext* context, const Node& node,
                                                          ByteLayer layer, const Tensor& values) {
  layer.loops = CurrentByteLoops();
  const bool is_row_of_sums = layer.result.type.dtype == DataType::kInt32;
  if (layer.loops == nullptr || !HasByteWeights(layer, values)) return nullptr;
  if (layer.is_depthwise() ? is_row_of_sums : layer.groups > 1) return nullptr;
  if (!layer.is_depthwise()) SetByteSegments(&layer);
  PLAIT_RETURN_IF_ERROR(PackByteWeights(context, values, &layer));
  if (layer.copies()) {
    const int64_t images = layer.is_flat() ? layer.batch : 1;
    const int64_t bytes = images * layer.lines() * layer.line_numbers() * layer.pixel_channels();
    // The last four numbers of a window may reach behind the image.
    PLAIT_ASSIGN_OR_RETURN(layer.image, ScratchOf<uint8_t>(context, bytes + 4));
  }
  if (layer.is_depthwise()) {
    const int64_t line_bytes = layer.window[1].input * layer.groups;
    PLAIT_ASSIGN_OR_RETURN(layer.padding, ScratchOf<uint8_t>(context, line_bytes));
    PLAIT_ASSIGN_OR_RETURN(layer.edges,
                           ScratchOf<uint8_t>(context, context->width() * layer.edge_bytes()));
  }
  bool is_known = true;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    is_known = is_known && IsConstantOrOmitted(context->graph(), node, i);
  }
  return std::make_unique<ByteKernel>(context->width(), std::move(layer), is_known);
}

}  // namespace plait
