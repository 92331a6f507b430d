#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/byte_kernel.h"
#include "gpu_worker/backends/cpu/kernels/integer_conv_pixels.h"
#include "gpu_worker/backends/cpu/kernels/integer_convolution.h"
#include "gpu_worker/backends/cpu/kernels/integer_rows.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/integer_sum.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/kernels/format_rules.h"

// A convolution of [1, 64, 28, 28] by [128, 64, 3, 3]: the image is widened to 16 bits, less its
// zero point and with its padding, so that whatever lies under a window is found by adding two
// offsets. A piece of work is a block of pixels (16 of AVX2), which a thread packs as the right
// side of a product of 576 numbers' depth, for all 128 channels, six at a time.

namespace plait {
namespace {

struct ConvLayer : IntegerConvolution {
  const int16_t* weights = nullptr;         // [groups, channels][2 * PairsOf(depth)]
  const int32_t* window_offsets = nullptr;  // of each place of the depth in the widened image
  int16_t* image = nullptr;   // [channels of the source, padded slices, lines, columns]
  int16_t* blocks = nullptr;  // of each thread
};

class IntegerConvKernel : public CpuKernel {
 public:
  IntegerConvKernel(int threads, const ConvLayer& layer)
      : threads_(threads), layer_(layer), factors_(layer.groups * layer.channels) {}

  absl::Status Run() override {
    layer_.SetFactors(absl::MakeSpan(factors_));
    const int64_t blocks = CeilDiv(layer_.pixels(), IntegerBlockColumns());
    for (int64_t image = 0; image < layer_.batch; ++image) {
      WidenImage(image);
      ForEachPart(threads_, layer_.groups * blocks, [&](int64_t begin, int64_t end, int thread) {
        int16_t* const block = layer_.blocks + thread * IntegerBlockNumbers(layer_.depth());
        for (int64_t i = begin; i < end; ++i) {
          RunBlock(image, i / blocks, i % blocks * IntegerBlockColumns(), block);
        }
      });
    }
    return absl::OkStatus();
  }

 private:
  void WidenImage(int64_t image) const {
    const WindowAxis& rows = layer_.window[0];
    const WindowAxis& columns = layer_.window[1];
    const int64_t channels = layer_.pixel_channels();
    const int32_t zero_point = layer_.source_zero_point.integer(0);
    const auto widen = Loops().integers.widen[SignOf(layer_.source.type.dtype)];
    ForEachPart(threads_, channels, [&](int64_t begin, int64_t end, int) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t lines = layer_.slices.input * rows.input;
        const uint8_t* const from =
            BytesAt(layer_.source) + (image * channels + c) * lines * columns.input;
        int16_t* const to = layer_.image + c * layer_.channel_numbers();
        std::fill_n(to, layer_.channel_numbers(), int16_t{0});
        for (int64_t i = 0; i < lines; ++i) {
          const int64_t slice = i / rows.input + layer_.slices.pad_begin;
          const int64_t line = slice * layer_.lines() + i % rows.input + rows.pad_begin;
          widen(from + i * columns.input, columns.input, zero_point,
                to + line * layer_.line_numbers() + columns.pad_begin);
        }
      }
    });
  }

  // The pixels from `first` on, as columns of the right side; zeros behind the last one.
  void PackPixels(int64_t group, int64_t first, int64_t count, int16_t* block) const {
    const int64_t columns = IntegerBlockColumns();
    int32_t offsets[32];
    const auto& [rows, line] = layer_.window;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = (first + i) / line.output;
      const int64_t z = row / rows.output * layer_.slices.stride;
      const int64_t y = z * layer_.lines() + row % rows.output * rows.stride;
      const int64_t x = (first + i) % line.output * line.stride;
      offsets[i] = static_cast<int32_t>(y * layer_.line_numbers() + x);
    }
    if (count < columns || layer_.depth() % 2 != 0) {
      std::fill_n(block, IntegerBlockNumbers(layer_.depth()), int16_t{0});
    }
    const int16_t* const image =
        layer_.image + group * layer_.source_channels * layer_.channel_numbers();
    for (int64_t k = 0; k < layer_.depth(); ++k) {
      const int16_t* const from = image + layer_.window_offsets[k];
      int16_t* const to = block + k / 2 * 2 * columns + k % 2;
      for (int64_t i = 0; i < count; ++i) to[2 * i] = from[offsets[i]];
    }
  }

  void RunBlock(int64_t image, int64_t group, int64_t first, int16_t* block) const {
    const int64_t columns = IntegerBlockColumns();
    const int64_t count = std::min(columns, layer_.pixels() - first);
    PackPixels(group, first, count, block);
    const int64_t row_numbers = 2 * PairsOf(layer_.depth());
    // Two vectors of AVX-512 for each row.
    int32_t sums[kIntegerTileRowsMax * 32];
    for (int64_t m = 0; m < layer_.channels; m += kIntegerTileRowsMax) {
      const int rows =
          static_cast<int>(std::min<int64_t>(kIntegerTileRowsMax, layer_.channels - m));
      const int64_t channel = group * layer_.channels + m;
      IntegerTile tile = {.right = block,
                          .pairs = PairsOf(layer_.depth()),
                          .sums = sums,
                          .sums_row_numbers = columns};
      SetLeftRows(layer_.weights + channel * row_numbers, row_numbers, rows, &tile);
      Loops().integers.tile(tile);
      for (int i = 0; i < rows; ++i) {
        WriteChannel(image, channel + i, first, count, sums + i * columns);
      }
    }
  }

  void WriteChannel(int64_t image, int64_t channel, int64_t first, int64_t count,
                    int32_t* sums) const {
    const auto bias = static_cast<uint32_t>(layer_.bias.integer(channel));
    float factors[32];
    for (int64_t i = 0; i < count; ++i) {
      // Modulo 2^32, as sums are.
      sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + bias);
      factors[i] = factors_[channel];
    }
    const DataType dtype = layer_.dtype();
    const int64_t plane = image * layer_.groups * layer_.channels + channel;
    std::byte* const y = layer_.result.data + (plane * layer_.pixels() + first) * BytesOf(dtype);
    WriteSums({dtype, layer_.result_zero_point.integer(0), factors, nullptr, layer_.limits}, sums,
              count, y);
    layer_.AddBytes(y, count);
  }

  int threads_;
  ConvLayer layer_;
  std::vector<float> factors_;  // by channel
};

// Weights [M, C/g, ...] less their zero points, each channel a row.
absl::Status LoadWeights(LoadContext* context, const Tensor& values, ConvLayer* layer) {
  const int64_t channels = layer->groups * layer->channels;
  const int64_t numbers = 2 * PairsOf(layer->depth());
  const Fingerprint form = FingerprintBuilder().Add("integer_rows").Add(numbers).Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(channels * numbers * 2, form));
  auto* const weights = reinterpret_cast<int16_t*>(place.data);
  layer->weights = weights;
  if (place.is_packed) return absl::OkStatus();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.bytes().data());
  for (int64_t m = 0; m < channels; ++m) {
    WidenLeftRow(bytes + m * layer->depth(), layer->depth(), values.type().dtype,
                 layer->weights_zero_point.integer(m), weights + m * numbers);
  }
  return absl::OkStatus();
}

// Where each place of the depth, [channel, slice, line, column] of a window, lies from a window's
// first.
absl::Status LoadOffsets(LoadContext* context, ConvLayer* layer) {
  const Fingerprint form = FingerprintBuilder()
                               .Add("window")
                               .Add(layer->slice_count())
                               .Add(layer->lines())
                               .Add(layer->line_numbers())
                               .Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(layer->depth() * 4, form));
  auto* const offsets = reinterpret_cast<int32_t*>(place.data);
  layer->window_offsets = offsets;
  if (place.is_packed) return absl::OkStatus();
  const WindowAxis& rows = layer->window[0];
  const WindowAxis& columns = layer->window[1];
  const WindowAxis& slices = layer->slices;
  for (int64_t k = 0; k < layer->depth(); ++k) {
    const int64_t row = k / columns.kernel;
    const int64_t window_slice = row / rows.kernel;
    const int64_t slice = window_slice / slices.kernel * layer->slice_count() +
                          window_slice % slices.kernel * slices.dilation;
    const int64_t line = slice * layer->lines() + row % rows.kernel * rows.dilation;
    offsets[k] =
        static_cast<int32_t>(line * layer->line_numbers() + k % columns.kernel * columns.dilation);
  }
  return absl::OkStatus();
}

bool LiesEitherWay(const TensorType& type) {
  return type.rank() == 4 && EffectiveFormat(type, Format::kChannelsLast) == Format::kPlain;
}

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPlanes(LoadContext* context, const Node& node) {
  ConvLayer layer;
  PLAIT_RETURN_IF_ERROR(ReadIntegerConvolution(context, node, Format::kPlain, &layer));
  PLAIT_ASSIGN_OR_RETURN(const Tensor weights, context->ConstantValue(WeightsOf(node)));
  PLAIT_RETURN_IF_ERROR(LoadWeights(context, weights, &layer));
  PLAIT_RETURN_IF_ERROR(LoadOffsets(context, &layer));
  PLAIT_ASSIGN_OR_RETURN(
      layer.image, ScratchOf<int16_t>(context, layer.pixel_channels() * layer.channel_numbers()));
  PLAIT_ASSIGN_OR_RETURN(
      layer.blocks,
      ScratchOf<int16_t>(context, context->width() * IntegerBlockNumbers(layer.depth())));
  return std::make_unique<IntegerConvKernel>(context->width(), layer);
}

}  // namespace

// Images in channels-last are in the other files, whose rows are pixels.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadIntegerConv(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty()) return context->Refuse();
  const std::optional<IntegerSum> sum = ParseSum(graph, nodes);
  const NodeId root = sum ? sum->root : nodes[0];
  if (!kIntegerConvOffer.runs(graph, root)) return context->Refuse();
  const Node& node = graph.node(root);
  const std::vector<Format>& from = context->kernel().input_formats;
  const std::vector<Format>& to = context->kernel().output_formats;
  const auto lies_by_pixels = [](const std::vector<Format>& formats) {
    return !formats.empty() && formats[0] == Format::kChannelsLast;
  };
  // Images of one pixel, or of one channel, lie either way.
  const bool is_either =
      LiesEitherWay(graph.input_type(root, 0)) && LiesEitherWay(graph.output_type(root));
  if (!lies_by_pixels(from) && !lies_by_pixels(to) && !is_either) {
    return LoadPlanes(context, node);
  }
  ByteLayer layer;
  PLAIT_RETURN_IF_ERROR(ReadIntegerConvolution(context, node, Format::kChannelsLast, &layer));
  PLAIT_ASSIGN_OR_RETURN(const Tensor weights, context->ConstantValue(WeightsOf(node)));
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> bytes,
                         MakeByteKernel(context, node, std::move(layer), weights));
  if (bytes != nullptr) return bytes;
  return LoadIntegerConvPixels(context, node);
}

}  // namespace plait
