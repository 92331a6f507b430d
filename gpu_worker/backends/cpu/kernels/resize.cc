#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/resizing.h"

namespace plait {
namespace {

constexpr int64_t kResizedPixelsMin = 4;

// The taps along an axis, as the loops read them.
class Taps {
 public:
  Taps(const Resizing& resizing, size_t axis, int64_t stride)
      : input_(resizing.axes[axis].input), output_(resizing.axes[axis].output) {
    const AxisTaps taps = TapsOf(resizing.resampling, resizing.axes[axis]);
    count_ = taps.count;
    for (int64_t element : taps.elements) offsets_.push_back(element * stride);
    weights_.assign(taps.weights.begin(), taps.weights.end());
  }

  int64_t input() const { return input_; }
  int64_t output() const { return output_; }
  // Of an element of the output.
  int64_t count() const { return count_; }
  // From an element of the output on.
  const int64_t* offsets(int64_t element) const { return offsets_.data() + element * count_; }
  const float* weights(int64_t element) const { return weights_.data() + element * count_; }

 private:
  int64_t input_;
  int64_t output_;
  int64_t count_ = 1;
  std::vector<int64_t> offsets_;
  std::vector<float> weights_;
};

// In channels-last: sums of pixels, over vectors of channels.
class ResizePixels : public PixelKernel {
 public:
  ResizePixels(int width, const Resizing& resizing, const Operand& source, const Operand& result)
      : PixelKernel({width, PixelsIn(result),
                     ChunkPixels(width, PixelsIn(result), kResizedPixelsMin), PixelsOf(result),
                     RowEpilogue()}),
        source_(source.floats()),
        channels_(source.type.shape[1]),
        image_floats_(source.type.shape[2] * source.type.shape[3] * source.pixel_elements()),
        rows_(resizing, 2, source.type.shape[3] * source.pixel_elements()),
        columns_(resizing, 3, source.pixel_elements()) {}

 private:
  static int64_t PixelsIn(const Operand& result) {
    return result.type.elements() / result.type.shape[1];
  }

  // One row of the result after the other.
  void RunPixels(int64_t begin, int64_t end, const PixelWindow::Target& to) const override {
    ResampledPixels pixels;
    pixels.row_taps = rows_.count();
    pixels.column_taps = columns_.count();
    pixels.y = to.data;
    pixels.y_pixel_floats = to.pixel_floats;
    pixels.channels = channels_;
    while (begin < end) {
      const int64_t line = begin / columns_.output();
      const int64_t row = line % rows_.output();
      const int64_t column = begin % columns_.output();
      pixels.x = source_ + line / rows_.output() * image_floats_;
      pixels.row_offsets = rows_.offsets(row);
      pixels.row_weights = rows_.weights(row);
      pixels.column_offsets = columns_.offsets(column);
      pixels.column_weights = columns_.weights(column);
      pixels.pixels = std::min(columns_.output() - column, end - begin);
      Loops().resampled_pixels(pixels);
      pixels.y += pixels.pixels * to.pixel_floats;
      begin += pixels.pixels;
    }
  }

  const float* const source_;
  const int64_t channels_;
  const int64_t image_floats_;
  const Taps rows_;
  const Taps columns_;
};

// Row-major: the rows that a row of the result is made of are summed to one, by vectors, and its
// columns then by numbers.
class ResizePlanes : public CpuKernel {
 public:
  // `lines` has a row of the source for each thread.
  ResizePlanes(int width, const Resizing& resizing, const Operand& source, const Operand& result,
               float* lines)
      : width_(width),
        source_(source.floats()),
        result_(result.floats()),
        planes_(source.type.shape[0] * source.type.shape[1]),
        rows_(resizing, 2, source.type.shape[3]),
        columns_(resizing, 3, 1),
        lines_(lines) {}

  absl::Status Run() override {
    ForEachPart(width_, planes_ * rows_.output(), [&](int64_t begin, int64_t end, int thread) {
      for (int64_t line = begin; line < end; ++line) {
        const float* const sums = SumRows(line, lines_ + thread * columns_.input());
        SumColumns(sums, result_ + line * columns_.output());
      }
    });
    return absl::OkStatus();
  }

 private:
  // A row of the source as it is where no other has a weight.
  const float* SumRows(int64_t line, float* sums) const {
    const int64_t row = line % rows_.output();
    ResampledPixels pixels;
    pixels.x = source_ + line / rows_.output() * rows_.input() * columns_.input();
    pixels.row_offsets = rows_.offsets(row);
    pixels.row_weights = rows_.weights(row);
    pixels.row_taps = rows_.count();
    if (pixels.row_taps == 1) return pixels.x + pixels.row_offsets[0];
    constexpr int64_t kHere = 0;
    constexpr float kWhole = 1;
    pixels.column_offsets = &kHere;
    pixels.column_weights = &kWhole;
    pixels.column_taps = 1;
    pixels.y = sums;
    pixels.pixels = 1;
    pixels.channels = columns_.input();
    Loops().resampled_pixels(pixels);
    return sums;
  }

  void SumColumns(const float* x, float* y) const {
    switch (columns_.count()) {
      case 1:
        return SumTaps<1>(x, y);
      case 2:
        return SumTaps<2>(x, y);
      case 4:
        return SumTaps<4>(x, y);
      default:
        return SumTaps<0>(x, y);
    }
  }

  // So many taps for each number; 0: as many as there are.
  template <int64_t kCount>
  void SumTaps(const float* x, float* y) const {
    const int64_t count = kCount > 0 ? kCount : columns_.count();
    const int64_t* const offsets = columns_.offsets(0);
    const float* const weights = columns_.weights(0);
    for (int64_t column = 0; column < columns_.output(); ++column) {
      float sum = 0;
      for (int64_t tap = column * count; tap < (column + 1) * count; ++tap) {
        sum += x[offsets[tap]] * weights[tap];
      }
      y[column] = sum;
    }
  }

  const int width_;
  const float* const source_;
  float* const result_;
  const int64_t planes_;
  const Taps rows_;
  const Taps columns_;
  float* const lines_;
};

}  // namespace

// Resize of the rows and columns of images.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadResize(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kResizeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Resizing resizing, ReadResizing(graph, nodes[0]));
  PLAIT_ASSIGN_OR_RETURN(const Ends ends, EndsOf(context, node.inputs[0], node.outputs[0]));
  const auto& [format, source, result] = ends;
  if (format == Format::kChannelsLast) {
    return std::make_unique<ResizePixels>(context->width(), resizing, source, result);
  }
  if (format != Format::kPlain) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(float* const lines,
                         ScratchOf<float>(context, context->width() * source.type.shape[3]));
  return std::make_unique<ResizePlanes>(context->width(), resizing, source, result, lines);
}

}  // namespace plait
