#include <algorithm>
#include <array>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/grid_sampling.h"

namespace plait {
namespace {

// Elements of a plane, or of an image's pixels, and their weights; those that are there.
struct Sample {
  std::array<int64_t, 4> offsets;
  std::array<float, 4> weights;
  int64_t count = 0;
};

Sample SampleOf(const GridTaps& taps, int64_t stride) {
  Sample sample;
  for (int i = 0; i < taps.count; ++i) {
    if (taps.elements[i] < 0) continue;
    sample.offsets[sample.count] = taps.elements[i] * stride;
    sample.weights[sample.count++] = static_cast<float>(taps.weights[i]);
  }
  return sample;
}

// What both forms share: X and the grid, by whose positions threads divide the work.
class Grid {
 public:
  Grid(const GridSampling& sampling, const Operand& x, const Operand& grid)
      : x_(x.type.shape), grid_(grid.floats()) {
    for (size_t i = 2; i < x_.size(); ++i) axes_.emplace_back(sampling, x_[i]);
    const Shape& shape = grid.type.shape;
    positions_ = ElementsOf(Shape(shape.begin() + 1, shape.end() - 1));
  }

  int64_t images() const { return x_[0]; }
  int64_t channels() const { return x_[1]; }
  size_t axes() const { return axes_.size(); }
  int64_t extent(size_t axis) const { return x_[axis + 2]; }
  // Of one image of the result.
  int64_t positions() const { return positions_; }

  // At a position of all images. The grid's numbers belong to the axes from the last one on.
  Sample At(int64_t position, size_t axis, int64_t stride) const {
    const size_t count = axes_.size();
    const float number =
        grid_[position * static_cast<int64_t>(count) + static_cast<int64_t>(count - 1 - axis)];
    return SampleOf(axes_[axis].At(number, DataType::kFloat32), stride);
  }

 private:
  Shape x_;
  const float* grid_;
  std::vector<SampledAxis> axes_;
  int64_t positions_ = 0;
};

// Row-major: the elements that a few positions read are found once, for all channels.
class GridSamplePlanes : public CpuKernel {
 public:
  GridSamplePlanes(int width, Grid grid, const Operand& x, const Operand& result)
      : width_(width), grid_(std::move(grid)), x_(x.floats()), y_(result.floats()) {
    for (size_t axis = grid_.axes(); axis-- > 0;) {
      strides_[axis] = plane_;
      plane_ *= grid_.extent(axis);
    }
  }

  absl::Status Run() override {
    const int64_t blocks = CeilDiv(grid_.positions(), kBlock);
    ForEachPart(width_, grid_.images() * blocks, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block % blocks * kBlock;
        RunBlock(block / blocks, first, std::min(kBlock, grid_.positions() - first));
      }
    });
    return absl::OkStatus();
  }

 private:
  // 16 positions of 64 elements each, as three axes by cubes have: 12 KiB of the first cache.
  static constexpr int64_t kBlock = 16;
  static constexpr int64_t kElementsMax = 64;

  struct Elements {
    std::array<int64_t, kElementsMax> offsets;
    std::array<float, kElementsMax> weights;
    int64_t count = 0;
  };

  void FindElements(int64_t position, Elements* elements) const {
    elements->offsets[0] = 0;
    elements->weights[0] = 1;
    elements->count = 1;
    for (size_t axis = 0; axis < grid_.axes(); ++axis) {
      const Sample sample = grid_.At(position, axis, strides_[axis]);
      // From the last one on, so that none is written over before it was read.
      for (int64_t i = elements->count; i-- > 0;) {
        const int64_t offset = elements->offsets[i];
        const float weight = elements->weights[i];
        for (int64_t j = 0; j < sample.count; ++j) {
          elements->offsets[i * sample.count + j] = offset + sample.offsets[j];
          elements->weights[i * sample.count + j] = weight * sample.weights[j];
        }
      }
      elements->count *= sample.count;
    }
  }

  void RunBlock(int64_t image, int64_t first, int64_t count) const {
    std::array<Elements, kBlock> block;
    for (int64_t i = 0; i < count; ++i) {
      FindElements(image * grid_.positions() + first + i, &block[i]);
    }
    for (int64_t channel = 0; channel < grid_.channels(); ++channel) {
      const int64_t plane = image * grid_.channels() + channel;
      const float* const x = x_ + plane * plane_;
      float* const y = y_ + plane * grid_.positions() + first;
      for (int64_t i = 0; i < count; ++i) {
        const Elements& elements = block[i];
        float sum = 0;
        for (int64_t j = 0; j < elements.count; ++j) {
          sum += x[elements.offsets[j]] * elements.weights[j];
        }
        y[i] = sum;
      }
    }
  }

  const int width_;
  const Grid grid_;
  const float* const x_;
  float* const y_;
  std::array<int64_t, 3> strides_ = {};
  int64_t plane_ = 1;  // elements
};

// Images in channels-last: sums of pixels, over vectors of channels.
class GridSamplePixels : public CpuKernel {
 public:
  GridSamplePixels(int width, Grid grid, const Operand& x, const Operand& result)
      : width_(width), grid_(std::move(grid)), x_(x.floats()), y_(result.floats()) {}

  absl::Status Run() override {
    ForEachPart(width_, grid_.images() * grid_.positions(), [&](int64_t begin, int64_t end, int) {
      for (int64_t position = begin; position < end; ++position) RunPixel(position);
    });
    return absl::OkStatus();
  }

 private:
  void RunPixel(int64_t position) const {
    const int64_t channels = grid_.channels();
    const int64_t row_floats = grid_.extent(1) * channels;
    const Sample rows = grid_.At(position, 0, row_floats);
    const Sample columns = grid_.At(position, 1, channels);
    float* const y = y_ + position * channels;
    if (rows.count == 0 || columns.count == 0) {
      std::fill_n(y, channels, 0.0f);
      return;
    }
    ResampledPixels pixels;
    pixels.x = x_ + position / grid_.positions() * grid_.extent(0) * row_floats;
    pixels.row_offsets = rows.offsets.data();
    pixels.row_weights = rows.weights.data();
    pixels.row_taps = rows.count;
    pixels.column_offsets = columns.offsets.data();
    pixels.column_weights = columns.weights.data();
    pixels.column_taps = columns.count;
    pixels.y = y;
    pixels.y_pixel_floats = channels;
    pixels.pixels = 1;
    pixels.channels = channels;
    Loops().resampled_pixels(pixels);
  }

  const int width_;
  const Grid grid_;
  const float* const x_;
  float* const y_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadGridSample(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kGridSampleOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const GridSampling sampling, ReadGridSampling(*node.attributes));
  PLAIT_ASSIGN_OR_RETURN(const Ends ends, EndsOf(context, node.inputs[0], node.outputs[0]));
  const auto& [format, x, result] = ends;
  PLAIT_ASSIGN_OR_RETURN(const Operand grid, FindIn(context, node.inputs[1], Format::kPlain));
  Grid positions(sampling, x, grid);
  if (format == Format::kChannelsLast) {
    return std::make_unique<GridSamplePixels>(context->width(), std::move(positions), x, result);
  }
  if (format != Format::kPlain) return context->Refuse();
  return std::make_unique<GridSamplePlanes>(context->width(), std::move(positions), x, result);
}

}  // namespace plait
