#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/integer_rows.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/spatial_window.h"

// A convolution of [1, 64, 28, 28] by [128, 64, 3, 3]: the image is widened to 16 bits, less its
// zero point and with its padding, so that whatever lies under a window is found by adding two
// offsets. A piece of work is a block of pixels (16 of AVX2), which a thread packs as the right
// side of a product of 576 numbers' depth, for all 128 channels, six at a time.

namespace plait {
namespace {

struct ConvLayer {
  std::array<WindowAxis, 2> window;  // a row has one line
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t source_channels = 1;  // of a group
  int64_t channels = 1;         // of the result in a group
  Operand source;
  ByteParameter source_zero_point;
  Operand result;
  ByteParameter scales[3];  // of image, weights and result, where it is in bytes
  ByteParameter result_zero_point;
  ByteParameter bias;
  const int16_t* weights = nullptr;         // [groups, channels][2 * PairsOf(depth)]
  const int32_t* window_offsets = nullptr;  // of each place of the depth in the widened image
  int16_t* image = nullptr;   // [channels of the source, padded lines, padded columns]
  int16_t* blocks = nullptr;  // of each thread

  int64_t depth() const { return source_channels * window[0].kernel * window[1].kernel; }
  int64_t pixels() const { return window[0].output * window[1].output; }
  int64_t lines() const { return window[0].input + window[0].pad_begin + window[0].pad_end; }
  int64_t line_numbers() const { return window[1].input + window[1].pad_begin + window[1].pad_end; }
};

class IntegerConvKernel : public CpuKernel {
 public:
  IntegerConvKernel(int threads, const ConvLayer& layer)
      : threads_(threads), layer_(layer), factors_(layer.groups * layer.channels) {}

  absl::Status Run() override {
    const bool has_scales = layer_.result.type.dtype != DataType::kInt32;
    for (size_t m = 0; has_scales && m < factors_.size(); ++m) {
      factors_[m] = layer_.scales[0].scale(0) * layer_.scales[1].scale(static_cast<int64_t>(m)) /
                    layer_.scales[2].scale(0);
    }
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
    const int64_t channels = layer_.groups * layer_.source_channels;
    const int32_t zero_point = layer_.source_zero_point.integer(0);
    const auto widen = Loops().integers.widen[SignOf(layer_.source.type.dtype)];
    ForEachPart(threads_, channels, [&](int64_t begin, int64_t end, int) {
      for (int64_t c = begin; c < end; ++c) {
        const uint8_t* const from =
            BytesAt(layer_.source) + (image * channels + c) * rows.input * columns.input;
        int16_t* const to = layer_.image + c * layer_.lines() * layer_.line_numbers();
        std::fill_n(to, layer_.lines() * layer_.line_numbers(), int16_t{0});
        for (int64_t y = 0; y < rows.input; ++y) {
          widen(from + y * columns.input, columns.input, zero_point,
                to + (y + rows.pad_begin) * layer_.line_numbers() + columns.pad_begin);
        }
      }
    });
  }

  // The pixels from `first` on, as columns of the right side; zeros behind the last one.
  void PackPixels(int64_t group, int64_t first, int64_t count, int16_t* block) const {
    const int64_t columns = IntegerBlockColumns();
    int32_t offsets[32];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t y = (first + i) / layer_.window[1].output * layer_.window[0].stride;
      const int64_t x = (first + i) % layer_.window[1].output * layer_.window[1].stride;
      offsets[i] = static_cast<int32_t>(y * layer_.line_numbers() + x);
    }
    if (count < columns || layer_.depth() % 2 != 0) {
      std::fill_n(block, IntegerBlockNumbers(layer_.depth()), int16_t{0});
    }
    const int16_t* const image =
        layer_.image + group * layer_.source_channels * layer_.lines() * layer_.line_numbers();
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
      Loops().integers.tile({.left = layer_.weights + channel * row_numbers,
                             .left_row_numbers = row_numbers,
                             .rows = rows,
                             .right = block,
                             .pairs = PairsOf(layer_.depth()),
                             .sums = sums,
                             .sums_row_numbers = columns});
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
    const DataType dtype = layer_.result.type.dtype;
    const int64_t plane = image * layer_.groups * layer_.channels + channel;
    WriteSums({dtype, layer_.result_zero_point.integer(0), factors}, sums, count,
              layer_.result.data + (plane * layer_.pixels() + first) * BytesOf(dtype));
  }

  int threads_;
  ConvLayer layer_;
  std::vector<float> factors_;  // by channel
};

// Weights [M, C/g, ...] less their zero points, each channel a row.
absl::Status LoadWeights(LoadContext* context, const Node& node, size_t index, size_t zero_point,
                         ConvLayer* layer) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[index]));
  PLAIT_ASSIGN_OR_RETURN(const ByteParameter zeros, ByteParameterOf(context, node, zero_point));
  const int64_t channels = layer->groups * layer->channels;
  const int64_t numbers = 2 * PairsOf(layer->depth());
  PLAIT_ASSIGN_OR_RETURN(std::byte* const memory, context->AllocateWeights(channels * numbers * 2));
  auto* const weights = reinterpret_cast<int16_t*>(memory);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.bytes().data());
  for (int64_t m = 0; m < channels; ++m) {
    WidenLeftRow(bytes + m * layer->depth(), layer->depth(), values.type().dtype, zeros.integer(m),
                 weights + m * numbers);
  }
  layer->weights = weights;
  return absl::OkStatus();
}

// Where each place of the depth, [channel, line, column] of a window, lies from a window's first.
absl::Status LoadOffsets(LoadContext* context, ConvLayer* layer) {
  PLAIT_ASSIGN_OR_RETURN(std::byte* const memory, context->AllocateWeights(layer->depth() * 4));
  auto* const offsets = reinterpret_cast<int32_t*>(memory);
  const WindowAxis& rows = layer->window[0];
  const WindowAxis& columns = layer->window[1];
  for (int64_t k = 0; k < layer->depth(); ++k) {
    const int64_t line = k / columns.kernel % rows.kernel * rows.dilation +
                         k / (columns.kernel * rows.kernel) * layer->lines();
    offsets[k] =
        static_cast<int32_t>(line * layer->line_numbers() + k % columns.kernel * columns.dilation);
  }
  layer->window_offsets = offsets;
  return absl::OkStatus();
}

// Errors: InvalidArgument (LoadContext::Refuse) for images whose places are no int32.
absl::Status ReadWindows(LoadContext* context, const Node& node, const TensorType& weights,
                         ConvLayer* layer) {
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> window,
      ReadWindow(*node.attributes, layer->source.type,
                 absl::MakeConstSpan(weights.shape).subspan(2), /*ceil_mode=*/false));
  const std::vector<WindowAxis> axes = ThreeAxes(window);
  layer->window = {axes[1], axes[2]};
  layer->batch = layer->source.type.shape[0];
  layer->groups = node.attributes->Int("group", 1);
  layer->source_channels = weights.shape[1];
  layer->channels = weights.shape[0] / layer->groups;
  const int64_t channels = layer->groups * layer->source_channels;
  constexpr int64_t kNumbersMax = int64_t{1} << 31;
  if (layer->lines() >= kNumbersMax / layer->line_numbers() / channels) return context->Refuse();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadIntegerConv(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kIntegerConvOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  const bool has_scales = node.op == OpKind::kQLinearConv;
  const size_t weights = has_scales ? 3 : 1;
  ConvLayer layer;
  PLAIT_ASSIGN_OR_RETURN(layer.source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(layer.result, FindIn(context, node.outputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(layer.source_zero_point, ByteParameterOf(context, node, 2));
  PLAIT_RETURN_IF_ERROR(ReadWindows(context, node, graph.type(node.inputs[weights]), &layer));
  PLAIT_RETURN_IF_ERROR(LoadWeights(context, node, weights, has_scales ? 5 : 3, &layer));
  PLAIT_RETURN_IF_ERROR(LoadOffsets(context, &layer));
  if (has_scales) {
    constexpr size_t kScales[] = {1, 4, 6};
    for (size_t i = 0; i < 3; ++i) {
      PLAIT_ASSIGN_OR_RETURN(layer.scales[i], ByteParameterOf(context, node, kScales[i]));
    }
    PLAIT_ASSIGN_OR_RETURN(layer.result_zero_point, ByteParameterOf(context, node, 7));
    PLAIT_ASSIGN_OR_RETURN(layer.bias, ByteParameterOf(context, node, 8));
  }
  const int64_t channels = layer.groups * layer.source_channels;
  PLAIT_ASSIGN_OR_RETURN(
      layer.image, ScratchOf<int16_t>(context, channels * layer.lines() * layer.line_numbers()));
  PLAIT_ASSIGN_OR_RETURN(
      layer.blocks,
      ScratchOf<int16_t>(context, context->width() * IntegerBlockNumbers(layer.depth())));
  return std::make_unique<IntegerConvKernel>(context->width(), layer);
}

}  // namespace plait
