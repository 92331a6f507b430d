#include "gpu_worker/backends/cpu/kernels/integer_conv_pixels.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/integer_convolution.h"
#include "gpu_worker/backends/cpu/kernels/integer_rows.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

// A convolution of [1, 64, 28, 28] by [128, 64, 3, 3]: the image is widened to 16 bits, less its
// zero point and with its padding. What lies under a window is then three segments of 192 numbers,
// a line of the window each, in which channels lie beside each other: a row of the left side of a
// product, which is never copied. A piece of work is 48 pixels by 64 channels of the result, in
// tiles of six pixels by a block of channels (16 of AVX2), whose weights stay in the first cache.
//
// Where each channel is a group of its own, its sums are made by vectors of channels.

namespace plait {
namespace {

constexpr int64_t kIntegerPiecePixels = 8 * kIntegerTileRowsMax;
constexpr int64_t kPieceBlocks = 4;

struct PixelLayer : IntegerConvolution {
  int64_t channel_numbers = 0;  // of a pixel of the widened image: its channels, made even
  int64_t pairs = 0;            // of a segment
  std::vector<int64_t> segments;
  const int16_t* weights = nullptr;  // see PackPixelWeights; depthwise: [tap][channel]
  int16_t* image = nullptr;          // [padded lines, padded columns][channel_numbers]
  int32_t* sums = nullptr;           // of each thread
  int64_t thread_sums = 0;

  bool is_depthwise() const { return source_channels == 1 && channels == 1 && groups > 1; }
  int64_t blocks() const { return CeilDiv(channels, IntegerBlockColumns()); }
  int64_t block_numbers() const {
    return static_cast<int64_t>(segments.size()) * pairs * 2 * IntegerBlockColumns();
  }
};

class IntegerPixelKernel : public CpuKernel {
 public:
  IntegerPixelKernel(int threads, PixelLayer layer)
      : threads_(threads),
        layer_(std::move(layer)),
        factors_(layer_.groups * layer_.channels),
        bias_(layer_.bias.data == nullptr ? 0 : factors_.size()) {}

  absl::Status Run() override {
    layer_.SetFactors(absl::MakeSpan(factors_));
    for (size_t m = 0; m < bias_.size(); ++m) {
      bias_[m] = layer_.bias.integer(static_cast<int64_t>(m));
    }
    for (int64_t image = 0; image < layer_.batch; ++image) {
      WidenImage(image);
      if (layer_.is_depthwise()) {
        RunDepthwise(image);
      } else {
        RunPieces(image);
      }
    }
    return absl::OkStatus();
  }

 private:
  void WidenImage(int64_t image) const {
    const WindowAxis& rows = layer_.window[0];
    const WindowAxis& columns = layer_.window[1];
    const int64_t channels = layer_.pixel_channels();
    const int64_t line = layer_.line_numbers() * layer_.channel_numbers;
    const int32_t zero_point = layer_.source_zero_point.integer(0);
    const auto widen = Loops().integers.widen[SignOf(layer_.source.type.dtype)];
    const uint8_t* const source =
        BytesAt(layer_.source) + image * rows.input * columns.input * channels;
    ForEachPart(threads_, layer_.lines(), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        int16_t* const to = layer_.image + i * line;
        const int64_t y = i - rows.pad_begin;
        const bool is_padding = y < 0 || y >= rows.input;
        if (is_padding || line != columns.input * channels) std::fill_n(to, line, int16_t{0});
        if (is_padding) continue;
        const uint8_t* const from = source + y * columns.input * channels;
        int16_t* const first = to + columns.pad_begin * layer_.channel_numbers;
        if (channels == layer_.channel_numbers) {
          widen(from, columns.input * channels, zero_point, first);
          continue;
        }
        for (int64_t x = 0; x < columns.input; ++x) {
          widen(from + x * channels, channels, zero_point, first + x * layer_.channel_numbers);
        }
      }
    });
  }

  // Under the first place of the window of a pixel.
  const int16_t* WindowOf(int64_t pixel) const {
    const int64_t y = pixel / layer_.window[1].output * layer_.window[0].stride;
    const int64_t x = pixel % layer_.window[1].output * layer_.window[1].stride;
    return layer_.image + (y * layer_.line_numbers() + x) * layer_.channel_numbers;
  }

  void RunDepthwise(int64_t image) const {
    ForEachPart(threads_, layer_.pixels(), [&](int64_t begin, int64_t end, int thread) {
      int32_t* const sums = layer_.sums + thread * layer_.thread_sums;
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        Loops().integers.depthwise_pixel({.x = WindowOf(pixel),
                                          .taps = layer_.segments.data(),
                                          .tap_count = static_cast<int64_t>(layer_.segments.size()),
                                          .weights = layer_.weights,
                                          .channels = layer_.groups,
                                          .sums = sums});
        WritePixel(image * layer_.pixels() + pixel, 0, layer_.groups, sums);
      }
    });
  }

  void RunPieces(int64_t image) const {
    const int64_t parts = CeilDiv(layer_.blocks(), kPieceBlocks);
    const int64_t of_pixels = layer_.groups * parts;
    const int64_t pieces = CeilDiv(layer_.pixels(), kIntegerPiecePixels) * of_pixels;
    ForEachPart(threads_, pieces, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t i = begin; i < end; ++i) {
        RunPiece(image, i / of_pixels * kIntegerPiecePixels, i % of_pixels / parts,
                 i % parts * kPieceBlocks, layer_.sums + thread * layer_.thread_sums);
      }
    });
  }

  void RunPiece(int64_t image, int64_t first, int64_t group, int64_t block, int32_t* sums) const {
    const int64_t last = std::min(first + kIntegerPiecePixels, layer_.pixels());
    const int64_t row_numbers = kPieceBlocks * IntegerBlockColumns();
    const int64_t blocks = std::min(kPieceBlocks, layer_.blocks() - block);
    for (int64_t i = 0; i < blocks; ++i) {
      IntegerTile tile = {
          .right = layer_.weights + (group * layer_.blocks() + block + i) * layer_.block_numbers(),
          .pairs = layer_.pairs,
          .segments = layer_.segments.data(),
          .segment_count = static_cast<int64_t>(layer_.segments.size()),
          .sums_row_numbers = row_numbers};
      for (int64_t pixel = first; pixel < last; pixel += tile.rows) {
        tile.rows = static_cast<int>(std::min<int64_t>(kIntegerTileRowsMax, last - pixel));
        for (int row = 0; row < tile.rows; ++row) {
          tile.left[row] = WindowOf(pixel + row) + group * layer_.source_channels;
        }
        tile.sums = sums + (pixel - first) * row_numbers + i * IntegerBlockColumns();
        Loops().integers.tile(tile);
      }
    }
    const int64_t column = block * IntegerBlockColumns();
    const int64_t count = std::min(row_numbers, layer_.channels - column);
    for (int64_t pixel = first; pixel < last; ++pixel) {
      WritePixel(image * layer_.pixels() + pixel, group * layer_.channels + column, count,
                 sums + (pixel - first) * row_numbers);
    }
  }

  void WritePixel(int64_t pixel, int64_t channel, int64_t count, const int32_t* sums) const {
    const DataType dtype = layer_.dtype();
    const SumsTarget target = {dtype, layer_.result_zero_point.integer(0),
                               factors_.data() + channel,
                               bias_.empty() ? nullptr : bias_.data() + channel, layer_.limits};
    const int64_t place = pixel * layer_.groups * layer_.channels + channel;
    std::byte* const y = layer_.result.data + place * BytesOf(dtype);
    WriteSums(target, sums, count, y);
    layer_.AddBytes(y, count);
  }

  int threads_;
  PixelLayer layer_;
  std::vector<float> factors_;  // by channel
  std::vector<int32_t> bias_;   // likewise; empty: none
};

// A segment is a line of the window where its channels lie beside each other, else a tap.
void SetSegments(PixelLayer* layer) {
  const WindowAxis& rows = layer->window[0];
  const WindowAxis& columns = layer->window[1];
  layer->channel_numbers = layer->pixel_channels();
  if (layer->groups == 1) layer->channel_numbers = 2 * PairsOf(layer->channel_numbers);
  const bool whole_lines = layer->groups == 1 && columns.dilation == 1;
  const int64_t in_line = whole_lines ? 1 : columns.kernel;
  layer->pairs =
      whole_lines ? columns.kernel * layer->channel_numbers / 2 : PairsOf(layer->source_channels);
  for (int64_t y = 0; y < rows.kernel; ++y) {
    for (int64_t x = 0; x < in_line; ++x) {
      layer->segments.push_back((y * rows.dilation * layer->line_numbers() + x * columns.dilation) *
                                layer->channel_numbers);
    }
  }
}

// The weight of a place in a segment, less its zero point; 0 where the place is none of the
// group's.
class WeightReader {
 public:
  WeightReader(const PixelLayer& layer, const Tensor& values)
      : layer_(layer), values_(values), taps_(layer.window[0].kernel * layer.window[1].kernel) {}

  int16_t At(int64_t channel, int64_t segment, int64_t place) const {
    const int64_t numbers = std::max<int64_t>(1, layer_.pairs * 2);
    const int64_t of_segment = taps_ / static_cast<int64_t>(layer_.segments.size());
    const int64_t of_tap = numbers / of_segment;
    const int64_t tap = segment * of_segment + place / of_tap;
    const int64_t source = place % of_tap;
    if (source >= layer_.source_channels) return 0;
    const int64_t at = (channel * layer_.source_channels + source) * taps_ + tap;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(values_.bytes().data());
    const int32_t value = values_.type().dtype == DataType::kInt8
                              ? static_cast<int32_t>(static_cast<int8_t>(bytes[at]))
                              : static_cast<int32_t>(bytes[at]);
    return static_cast<int16_t>(value - layer_.weights_zero_point.integer(channel));
  }

 private:
  const PixelLayer& layer_;
  const Tensor& values_;
  int64_t taps_;
};

// Blocks of columns as IntegerTile::right has them, [group][block][segment][pair][column][2], with
// zeros behind the last column.
absl::Status PackPixelWeights(LoadContext* context, const Tensor& values, PixelLayer* layer) {
  const int64_t columns = IntegerBlockColumns();
  const int64_t numbers = layer->groups * layer->blocks() * layer->block_numbers();
  const auto segments = static_cast<int64_t>(layer->segments.size());
  const Fingerprint form =
      FingerprintBuilder().Add("integer_pixels").Add(layer->pairs).Add(segments).Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(numbers * 2, form));
  auto* const weights = reinterpret_cast<int16_t*>(place.data);
  layer->weights = weights;
  if (place.is_packed) return absl::OkStatus();
  std::fill_n(weights, numbers, int16_t{0});
  const WeightReader reader(*layer, values);
  for (int64_t m = 0; m < layer->groups * layer->channels; ++m) {
    const int64_t group = m / layer->channels;
    const int64_t column = m % layer->channels;
    int16_t* const block = weights +
                           (group * layer->blocks() + column / columns) * layer->block_numbers() +
                           column % columns * 2;
    for (int64_t i = 0; i < segments * layer->pairs; ++i) {
      for (int64_t half = 0; half < 2; ++half) {
        block[i * 2 * columns + half] = reader.At(m, i / layer->pairs, i % layer->pairs * 2 + half);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status PackDepthwiseWeights(LoadContext* context, const Tensor& values, PixelLayer* layer) {
  const auto taps = static_cast<int64_t>(layer->segments.size());
  const Fingerprint form = FingerprintBuilder().Add("integer_taps").Add(taps).Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(taps * layer->groups * 2, form));
  auto* const weights = reinterpret_cast<int16_t*>(place.data);
  layer->weights = weights;
  if (place.is_packed) return absl::OkStatus();
  const WeightReader reader(*layer, values);
  for (int64_t i = 0; i < taps * layer->groups; ++i) {
    weights[i] = reader.At(i % layer->groups, i / layer->groups, 0);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadIntegerConvPixels(LoadContext* context,
                                                                 const Node& node) {
  PixelLayer layer;
  PLAIT_RETURN_IF_ERROR(ReadIntegerConvolution(context, node, Format::kChannelsLast, &layer));
  SetSegments(&layer);
  PLAIT_ASSIGN_OR_RETURN(const Tensor weights, context->ConstantValue(WeightsOf(node)));
  if (layer.is_depthwise()) {
    PLAIT_RETURN_IF_ERROR(PackDepthwiseWeights(context, weights, &layer));
    layer.thread_sums = layer.groups;
  } else {
    PLAIT_RETURN_IF_ERROR(PackPixelWeights(context, weights, &layer));
    layer.thread_sums = kIntegerPiecePixels * kPieceBlocks * IntegerBlockColumns();
  }
  // A number more: the pair of the last channel of a group may reach into what follows.
  PLAIT_ASSIGN_OR_RETURN(
      layer.image, ScratchOf<int16_t>(
                       context, layer.lines() * layer.line_numbers() * layer.channel_numbers + 1));
  PLAIT_ASSIGN_OR_RETURN(layer.sums,
                         ScratchOf<int32_t>(context, context->width() * layer.thread_sums));
  return std::make_unique<IntegerPixelKernel>(context->width(), std::move(layer));
}

}  // namespace plait
