#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/resized_image.h"
#include "optimizer/ops/shared/resizing.h"

namespace plait {
namespace {

constexpr int64_t kResizedPixelsMin = 4;

// The taps along neighbouring axes, as the loops read them: [2, 3] elements that are made of [4, 6]
// are 6 made of 24, and a tap of one is a tap along each axis.
class Taps {
 public:
  // Along axes [first, last), of the last of which elements lie `stride` apart. No axes have one
  // element, and one tap.
  Taps(const Resizing& resizing, size_t first, size_t last, int64_t stride) {
    std::vector<double> weights = {1};
    for (size_t axis = first; axis < last; ++axis) {
      AddAxis(resizing.resampling, resizing.axes[axis], &weights);
    }
    for (int64_t& offset : offsets_) offset *= stride;
    weights_.assign(weights.begin(), weights.end());
  }

  int64_t input() const { return input_; }
  int64_t output() const { return output_; }
  // Of an element of the output.
  int64_t count() const { return count_; }
  // From an element of the output on.
  const int64_t* offsets(int64_t element) const { return offsets_.data() + element * count_; }
  const float* weights(int64_t element) const { return weights_.data() + element * count_; }
  // Whether a crop has no input for it, but a value.
  bool is_outside(int64_t element) const { return is_outside_[element]; }

 private:
  // What stays has itself as its tap.
  static AxisTaps TapsAlong(const Resampling& resampling, const ResizedAxis& axis) {
    if (!IsKept(resampling, axis)) return TapsOf(resampling, axis);
    AxisTaps taps;
    taps.elements.resize(axis.output);
    std::iota(taps.elements.begin(), taps.elements.end(), 0);
    taps.weights.assign(axis.output, 1);
    taps.is_outside.assign(axis.output, false);
    return taps;
  }

  // Weights multiply before they are rounded.
  void AddAxis(const Resampling& resampling, const ResizedAxis& axis,
               std::vector<double>* weights) {
    const AxisTaps taps = TapsAlong(resampling, axis);
    const std::vector<int64_t> outer_offsets = std::exchange(offsets_, {});
    const std::vector<double> outer_weights = std::exchange(*weights, {});
    const std::vector<bool> outer_outside = std::exchange(is_outside_, {});
    for (int64_t i = 0; i < output_ * axis.output; ++i) {
      is_outside_.push_back(outer_outside[i / axis.output] || taps.is_outside[i % axis.output]);
      for (int64_t tap = 0; tap < count_ * taps.count; ++tap) {
        const int64_t outer = i / axis.output * count_ + tap / taps.count;
        const int64_t inner = i % axis.output * taps.count + tap % taps.count;
        offsets_.push_back(outer_offsets[outer] * axis.input + taps.elements[inner]);
        weights->push_back(outer_weights[outer] * taps.weights[inner]);
      }
    }
    input_ *= axis.input;
    output_ *= axis.output;
    count_ *= taps.count;
  }

  int64_t input_ = 1;
  int64_t output_ = 1;
  int64_t count_ = 1;
  std::vector<int64_t> offsets_ = {0};
  std::vector<float> weights_;
  std::vector<bool> is_outside_ = {false};
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
        rows_(resizing, 2, 3, source.type.shape[3] * source.pixel_elements()),
        columns_(resizing, 3, 4, source.pixel_elements()) {}

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
// columns then by numbers. Rows are all axes between those in front, which stay, and the last one.
// What a crop has no input for is filled.
class ResizePlanes : public CpuKernel {
 public:
  // `lines` has a row of the source for each thread.
  ResizePlanes(int width, const Resizing& resizing, const Operand& source, const Operand& result,
               float* lines)
      : width_(width),
        source_(source.floats()),
        result_(result.floats()),
        planes_(PlanesOf(resizing)),
        rows_(resizing, AxesInFront(resizing), resizing.axes.size() - 1,
              resizing.axes.back().input),
        columns_(resizing, resizing.axes.size() - 1, resizing.axes.size(), 1),
        filling_(static_cast<float>(resizing.extrapolation_value)),
        lines_(lines) {
    for (int64_t column = 0; column < columns_.output(); ++column) {
      if (columns_.is_outside(column)) filled_columns_.push_back(column);
    }
  }

  absl::Status Run() override {
    ForEachPart(width_, planes_ * rows_.output(), [&](int64_t begin, int64_t end, int thread) {
      for (int64_t line = begin; line < end; ++line) {
        float* const y = result_ + line * columns_.output();
        if (rows_.is_outside(line % rows_.output())) {
          std::fill_n(y, columns_.output(), filling_);
          continue;
        }
        SumColumns(SumRows(line, lines_ + thread * columns_.input()), y);
        for (const int64_t column : filled_columns_) y[column] = filling_;
      }
    });
    return absl::OkStatus();
  }

 private:
  // Of the axes before the last one, those that stay and that no other one precedes.
  static size_t AxesInFront(const Resizing& resizing) {
    size_t axes = 0;
    while (axes + 1 < resizing.axes.size() && IsKept(resizing.resampling, resizing.axes[axes])) {
      ++axes;
    }
    return axes;
  }

  static int64_t PlanesOf(const Resizing& resizing) {
    int64_t planes = 1;
    for (size_t i = 0; i < AxesInFront(resizing); ++i) planes *= resizing.axes[i].input;
    return planes;
  }

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
  const float filling_;
  std::vector<int64_t> filled_columns_;
  float* const lines_;
};

}  // namespace

// In channels-last, of the rows and columns of images that are not cropped.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadResize(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kResizeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Resizing resizing, ReadResizing(graph, nodes[0]));
  PLAIT_ASSIGN_OR_RETURN(const Ends ends, EndsOf(context, node.inputs[0], node.outputs[0]));
  const auto& [format, source, result] = ends;
  if (format == Format::kChannelsLast && IsResizedImage(graph, nodes[0])) {
    return std::make_unique<ResizePixels>(context->width(), resizing, source, result);
  }
  if (format != Format::kPlain) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(float* const lines,
                         ScratchOf<float>(context, context->width() * source.type.shape.back()));
  return std::make_unique<ResizePlanes>(context->width(), resizing, source, result, lines);
}

}  // namespace plait
