#include "gpu_worker/backends/cpu/kernels/winograd_tiles.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

constexpr int kWindow = 3;
constexpr int kExtentMax = 4;
constexpr int kSizeMax = kExtentMax + kWindow - 1;

WinogradTile TileOf(int extent) { return extent == 2 ? WinogradTile::kTwo : WinogradTile::kFour; }

// What one axis makes of a window: its polynomial's values at the points in the order of the loops,
// each divided by the differences between the point and the others.
void TransformWindow(int extent, const double (&w)[kWindow], double (&g)[kSizeMax]) {
  const auto value = [&](double x) { return w[0] + w[1] * x + w[2] * x * x; };
  g[extent + 1] = w[2];
  if (extent == 2) {
    g[0] = w[0];
    g[1] = value(1) / 2;
    g[2] = value(-1) / 2;
    return;
  }
  const double a = kWinogradPoints[0];
  const double b = kWinogradPoints[1];
  const double of_a = 2 * a * a * (a * a - b * b);
  const double of_b = 2 * b * b * (b * b - a * a);
  g[0] = w[0] / (a * a * b * b);
  g[1] = value(a) / of_a;
  g[2] = value(-a) / of_a;
  g[3] = value(b) / of_b;
  g[4] = value(-b) / of_b;
}

// `to` is the first element, and the others lie `element_floats` apart.
void TransformWeight(int extent, const float* weight, float* to, int64_t element_floats) {
  const int size = extent + kWindow - 1;
  double kept[kSizeMax][kWindow];
  for (int column = 0; column < kWindow; ++column) {
    const double w[kWindow] = {weight[column], weight[kWindow + column],
                               weight[2 * kWindow + column]};
    double g[kSizeMax];
    TransformWindow(extent, w, g);
    for (int row = 0; row < size; ++row) kept[row][column] = g[row];
  }
  for (int row = 0; row < size; ++row) {
    double g[kSizeMax];
    TransformWindow(extent, kept[row], g);
    for (int column = 0; column < size; ++column) {
      *to = static_cast<float>(g[column]);
      to += element_floats;
    }
  }
}

}  // namespace

absl::StatusOr<WinogradTiles> WinogradTiles::Load(LoadContext* context, const Node& conv,
                                                  int extent, RowLayer& layer) {
  WinogradTiles tiles;
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> axes,
      ReadWindow(*conv.attributes, layer.source.type, {kWindow, kWindow}, /*ceil_mode=*/false));
  std::copy(axes.begin(), axes.end(), tiles.axes_);
  PLAIT_ASSIGN_OR_RETURN(tiles.weights_, context->ConstantValue(conv.inputs[1]));
  tiles.source_ = layer.source.floats();
  tiles.result_ = layer.result.floats();
  tiles.bias_ = layer.epilogue.bias();
  tiles.bounds_ = layer.epilogue.TakeBounds();
  tiles.extent_ = extent;
  tiles.images_ = layer.source.type.shape[0];
  tiles.source_channels_ = layer.source.type.shape[1];
  tiles.result_channels_ = layer.result.type.shape[1];
  return tiles;
}

std::vector<float> WinogradTiles::TransformWeights(int threads) const {
  const auto* const weights = reinterpret_cast<const float*>(weights_.bytes().data());
  const int64_t element_floats = source_channels_ * result_channels_;
  std::vector<float> transformed(elements() * element_floats);
  ForEachPart(threads, source_channels_, [&](int64_t begin, int64_t end, int) {
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t k = 0; k < result_channels_; ++k) {
        TransformWeight(extent_, weights + (k * source_channels_ + c) * kWindow * kWindow,
                        transformed.data() + c * result_channels_ + k, element_floats);
      }
    }
  });
  return transformed;
}

WinogradTiles::Place WinogradTiles::PlaceOf(int64_t tile) const {
  const int64_t row = tile / TilesOf(1);
  return {.image = row / TilesOf(0),
          .row = row % TilesOf(0) * extent_,
          .column = tile % TilesOf(1) * extent_};
}

int64_t WinogradTiles::PixelAt(const Place& place, int64_t row) const {
  return (place.image * axes_[0].output + place.row + row) * axes_[1].output + place.column;
}

// nullptr: in the padding, or behind it.
const float* WinogradTiles::SourceAt(int64_t image, int64_t row, int64_t column) const {
  const bool is_inside = row >= 0 && row < axes_[0].input && column >= 0 && column < axes_[1].input;
  if (!is_inside) return nullptr;
  return source_ + ((image * axes_[0].input + row) * axes_[1].input + column) * source_channels_;
}

void WinogradTiles::Read(int64_t begin, int64_t end, const Elements& elements) const {
  const auto transform = Loops().winograd_pixels[static_cast<int>(TileOf(extent_))];
  const int size = extent_ + kWindow - 1;
  const float* pixels[kSizeMax * kSizeMax];
  for (int64_t tile = begin; tile < end; ++tile) {
    const Place place = PlaceOf(tile);
    for (int row = 0; row < size; ++row) {
      for (int column = 0; column < size; ++column) {
        pixels[row * size + column] = SourceAt(place.image, axes_[0].start(place.row) + row,
                                               axes_[1].start(place.column) + column);
      }
    }
    transform({.x = pixels,
               .y = elements.data + (tile - begin) * elements.row_floats,
               .y_element_floats = elements.element_floats,
               .channels = source_channels_});
  }
}

void WinogradTiles::Write(int64_t begin, int64_t end, const Elements& elements,
                          const RowEpilogue& epilogue) const {
  for (int64_t tile = begin; tile < end; ++tile) {
    WriteTile(PlaceOf(tile),
              {.x = elements.data + (tile - begin) * elements.row_floats,
               .x_element_floats = elements.element_floats,
               .bias = bias_,
               .lowest = bounds_.lowest,
               .highest = bounds_.highest,
               .channels = result_channels_},
              epilogue);
  }
}

void WinogradTiles::WriteTile(const Place& place, const WinogradSums& sums,
                              const RowEpilogue& epilogue) const {
  const int64_t rows = std::min<int64_t>(extent_, axes_[0].output - place.row);
  const int64_t columns = std::min<int64_t>(extent_, axes_[1].output - place.column);
  float* pixels[kExtentMax * kExtentMax] = {};
  for (int64_t row = 0; row < rows; ++row) {
    float* const first = result_ + PixelAt(place, row) * result_channels_;
    for (int64_t column = 0; column < columns; ++column) {
      pixels[row * extent_ + column] = first + column * result_channels_;
    }
  }
  WinogradSums wanted = sums;
  wanted.y = pixels;
  const bool is_finite = Loops().winograd_sums[static_cast<int>(TileOf(extent_))](wanted);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns && !is_finite; ++column) {
      ConvolvePixel(place.image, place.row + row, place.column + column,
                    pixels[row * extent_ + column]);
    }
    epilogue.ApplyToRows(pixels[row * extent_], PixelAt(place, row), columns);
  }
}

void WinogradTiles::ConvolvePixel(int64_t image, int64_t row, int64_t column, float* result) const {
  const auto* const weights = reinterpret_cast<const float*>(weights_.bytes().data());
  for (int64_t k = 0; k < result_channels_; ++k) result[k] = bias_ == nullptr ? 0 : bias_[k];
  for (int tap = 0; tap < kWindow * kWindow; ++tap) {
    const float* const pixel = SourceAt(image, axes_[0].start(row) + tap / kWindow,
                                        axes_[1].start(column) + tap % kWindow);
    if (pixel == nullptr) continue;
    for (int64_t k = 0; k < result_channels_; ++k) {
      const float* const weight = weights + k * source_channels_ * kWindow * kWindow + tap;
      for (int64_t c = 0; c < source_channels_; ++c) {
        result[k] += pixel[c] * weight[c * kWindow * kWindow];
      }
    }
  }
  Loops().unary[static_cast<int>(UnaryLoop::kClip)](result, result, result_channels_,
                                                    bounds_.lowest, bounds_.highest);
}

}  // namespace plait
