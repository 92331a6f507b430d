#include "gpu_worker/backends/cpu/kernels/winograd_tiles.h"

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

constexpr int kWindow = 3;
constexpr int kExtentMax = 4;
constexpr int kSizeMax = kExtentMax + kWindow - 1;

WinogradTile TileOf(int extent) { return extent == 2 ? WinogradTile::kTwo : WinogradTile::kFour; }

// An outlier is larger than so many times the mean of its tile: no number of a tile of 16 pixels of
// 16 channels could be 256 times as large.
constexpr int64_t kOutlierMeansOfTile = 128;

// How many numbers a tile counts as, of which the mean is taken: with channels in whole vectors.
int64_t NumbersOf(int64_t pixels, int64_t channels) {
  constexpr int64_t kVectorFloatsMax = 16;
  return pixels * CeilDiv(channels, kVectorFloatsMax) * kVectorFloatsMax;
}

// Numbers of as many result channels, which are transformed side by side: the compiler makes
// vectors of them.
constexpr int kLanes = 16;
struct Lanes {
  double at[kLanes];
};

// g = (w0 + w1 x + w2 x^2) / divisor.
void Evaluate(const Lanes (&w)[kWindow], double x, double divisor, Lanes* g) {
  for (int i = 0; i < kLanes; ++i) {
    g->at[i] = (w[0].at[i] + w[1].at[i] * x + w[2].at[i] * x * x) / divisor;
  }
}

// What one axis makes of a window: its polynomial's values at the points in the order of the loops,
// each divided by the differences between the point and the others.
void TransformWindow(int extent, const Lanes (&w)[kWindow], Lanes (&g)[kSizeMax]) {
  g[extent + 1] = w[2];
  if (extent == 2) {
    g[0] = w[0];
    Evaluate(w, 1, 2, &g[1]);
    Evaluate(w, -1, 2, &g[2]);
    return;
  }
  const double a = kWinogradPoints[0];
  const double b = kWinogradPoints[1];
  const double of_a = 2 * a * a * (a * a - b * b);
  const double of_b = 2 * b * b * (b * b - a * a);
  for (int i = 0; i < kLanes; ++i) g[0].at[i] = w[0].at[i] / (a * a * b * b);
  Evaluate(w, a, of_a, &g[1]);
  Evaluate(w, -a, of_a, &g[2]);
  Evaluate(w, b, of_b, &g[3]);
  Evaluate(w, -b, of_b, &g[4]);
}

// Of both axes: elements[row][column] of a window's weights, which lie `weight_floats` apart for
// each of `count` result channels beside each other, at most kLanes.
void TransformWindows(int extent, const float* weights, int64_t weight_floats, int64_t count,
                      Lanes (&elements)[kSizeMax][kSizeMax]) {
  Lanes kept[kSizeMax][kWindow] = {};
  for (int column = 0; column < kWindow; ++column) {
    Lanes w[kWindow] = {};
    for (int64_t row = 0; row < kWindow; ++row) {
      std::copy_n(weights + (row * kWindow + column) * weight_floats, count, w[row].at);
    }
    Lanes g[kSizeMax];
    TransformWindow(extent, w, g);
    for (int row = 0; row < extent + 2; ++row) kept[row][column] = g[row];
  }
  for (int row = 0; row < extent + 2; ++row) TransformWindow(extent, kept[row], elements[row]);
}

// Rounds to floats. False: one of them is not finite.
bool CopyLanes(const Lanes& lanes, int64_t count, float* to) {
  bool are_finite = true;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>(lanes.at[i]);
    are_finite = are_finite && std::isfinite(to[i]);
  }
  return are_finite;
}

}  // namespace

absl::StatusOr<WinogradTiles> WinogradTiles::Load(LoadContext* context, const Node& conv,
                                                  int extent, RowLayer& layer) {
  WinogradTiles tiles;
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> axes,
      ReadWindow(*conv.attributes, layer.source.type, {kWindow, kWindow}, /*ceil_mode=*/false));
  std::copy(axes.begin(), axes.end(), tiles.axes_);
  tiles.source_ = layer.source.floats();
  tiles.result_ = layer.result.floats();
  tiles.bias_ = layer.epilogue.bias();
  tiles.bounds_ = layer.epilogue.TakeBounds();
  tiles.extent_ = extent;
  tiles.images_ = layer.source.type.shape[0];
  tiles.source_channels_ = layer.source.type.shape[1];
  tiles.result_channels_ = layer.result.type.shape[1];
  tiles.source_pixel_floats_ = layer.source.pixel_elements();
  tiles.result_pixel_floats_ = layer.result.pixel_elements();
  const Fingerprint form = FingerprintBuilder().Add("taps").Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePackedOf(
                             conv.inputs[1], context->graph().type(conv.inputs[1]).bytes(), form));
  tiles.weights_ = reinterpret_cast<const float*>(place.data);
  if (place.is_packed) return tiles;
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(conv.inputs[1]));
  tiles.PackWeights(context->width(), reinterpret_cast<const float*>(values.bytes().data()),
                    reinterpret_cast<float*>(place.data));
  return tiles;
}

// `values` by result channels, source channels and taps. A cache line is written at a time, of
// what lies far apart.
void WinogradTiles::PackWeights(int threads, const float* values, float* packed) const {
  constexpr int64_t kLineFloats = 16;
  ForEachPart(threads, source_channels_, [&](int64_t begin, int64_t end, int) {
    for (int64_t first = 0; first < result_channels_; first += kLineFloats) {
      const int64_t last = std::min(first + kLineFloats, result_channels_);
      for (int64_t place = begin * kTaps; place < end * kTaps; ++place) {
        for (int64_t k = first; k < last; ++k) {
          packed[place * result_channels_ + k] = values[k * source_channels_ * kTaps + place];
        }
      }
    }
  });
}

bool WinogradTiles::TransformWeights(int64_t channel, int64_t first, int64_t count,
                                     absl::Span<float* const> to) const {
  bool are_finite = true;
  for (int64_t done = 0; done < count; done += kLanes) {
    const int64_t lanes = std::min<int64_t>(kLanes, count - done);
    Lanes elements[kSizeMax][kSizeMax];
    TransformWindows(extent_, WeightsAt(channel, 0) + first + done, result_channels_, lanes,
                     elements);
    for (int64_t e = 0; e < this->elements(); ++e) {
      const Lanes& element = elements[e / (extent_ + 2)][e % (extent_ + 2)];
      if (!CopyLanes(element, lanes, to[e] + done)) are_finite = false;
    }
  }
  return are_finite;
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
  const int64_t pixel = (image * axes_[0].input + row) * axes_[1].input + column;
  return source_ + pixel * source_pixel_floats_;
}

int64_t WinogradTiles::outliers_max() const {
  return NumbersOf(elements(), source_channels_) / kOutlierMeansOfTile + 1;
}

void WinogradTiles::Read(int64_t begin, int64_t end, const Elements& elements,
                         const Outliers& outliers, float* spare) const {
  const auto transform = Loops().winograd_pixels[static_cast<int>(TileOf(extent_))];
  const int size = extent_ + kWindow - 1;
  const auto numbers = static_cast<float>(NumbersOf(this->elements(), source_channels_));
  const float* pixels[kSizeMax * kSizeMax];
  for (int64_t i = 0; i < end - begin; ++i) {
    const Place place = PlaceOf(begin + i);
    for (int row = 0; row < size; ++row) {
      for (int column = 0; column < size; ++column) {
        pixels[row * size + column] = SourceAt(place.image, axes_[0].start(place.row) + row,
                                               axes_[1].start(place.column) + column);
      }
    }
    const WinogradPixels tile = {.x = pixels,
                                 .y = elements.data + i * elements.row_floats,
                                 .y_element_floats = elements.element_floats,
                                 .channels = source_channels_};
    const Magnitudes seen = transform(tile);
    outliers.counts[i] = 0;
    const float limit = kOutlierMeansOfTile * seen.sum / numbers;
    // Where the sum is no number, the tile is convolved plainly.
    if (!(seen.largest > limit) || !std::isfinite(limit)) continue;
    outliers.counts[i] = TakeOutliers(limit, pixels, outliers.first + i * outliers_max(), spare);
    transform(tile);
  }
}

int32_t WinogradTiles::TakeOutliers(float limit, const float** pixels, Outlier* outliers,
                                    float* spare) const {
  int32_t count = 0;
  for (int32_t pixel = 0; pixel < elements(); ++pixel) {
    if (pixels[pixel] == nullptr) continue;
    for (int32_t channel = 0; channel < source_channels_; ++channel) {
      const float value = pixels[pixel][channel];
      const bool is_outlier = std::abs(value) > limit && count < outliers_max();
      spare[channel] = is_outlier ? 0 : value;
      if (is_outlier) outliers[count++] = {pixel, channel, value};
    }
    pixels[pixel] = spare;
    spare += source_channels_;
  }
  return count;
}

void WinogradTiles::Write(int64_t begin, int64_t end, const Elements& elements,
                          const Outliers& outliers, const RowEpilogue& epilogue) const {
  for (int64_t i = 0; i < end - begin; ++i) {
    WriteTile(PlaceOf(begin + i),
              {.x = elements.data + i * elements.row_floats,
               .x_element_floats = elements.element_floats,
               .bias = bias_,
               .lowest = bounds_.lowest,
               .highest = bounds_.highest,
               .channels = result_channels_},
              {outliers.first + i * outliers_max(), static_cast<size_t>(outliers.counts[i])},
              epilogue);
  }
}

void WinogradTiles::WriteTile(const Place& place, const WinogradSums& sums,
                              absl::Span<const Outlier> outliers,
                              const RowEpilogue& epilogue) const {
  const int64_t rows = std::min<int64_t>(extent_, axes_[0].output - place.row);
  const int64_t columns = std::min<int64_t>(extent_, axes_[1].output - place.column);
  float* pixels[kExtentMax * kExtentMax] = {};
  for (int64_t row = 0; row < rows; ++row) {
    float* const first = result_ + PixelAt(place, row) * result_pixel_floats_;
    for (int64_t column = 0; column < columns; ++column) {
      pixels[row * extent_ + column] = first + column * result_pixel_floats_;
    }
  }
  WinogradSums wanted = sums;
  wanted.y = pixels;
  if (!outliers.empty()) {
    wanted.lowest = RowEpilogue::Bounds().lowest;
    wanted.highest = RowEpilogue::Bounds().highest;
  }
  const bool is_finite = Loops().winograd_sums[static_cast<int>(TileOf(extent_))](wanted);
  if (is_finite) {
    for (const Outlier& outlier : outliers) AddOutlier(outlier, pixels);
  }
  const LoopTable::Unary clip = Loops().unary[static_cast<int>(UnaryLoop::kClip)];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      float* const pixel = pixels[row * extent_ + column];
      if (!is_finite) ConvolvePixel(place.image, place.row + row, place.column + column, pixel);
      if (!is_finite || !outliers.empty()) {
        clip(pixel, pixel, result_channels_, bounds_.lowest, bounds_.highest);
      }
    }
    epilogue.ApplyToRows(pixels[row * extent_], PixelAt(place, row), columns);
  }
}

void WinogradTiles::AddOutlier(const Outlier& outlier, float* const* pixels) const {
  const int size = extent_ + kWindow - 1;
  for (int row = 0; row < extent_; ++row) {
    for (int column = 0; column < extent_; ++column) {
      const int tap[2] = {outlier.pixel / size - row, outlier.pixel % size - column};
      float* const result = pixels[row * extent_ + column];
      const bool is_seen = tap[0] >= 0 && tap[0] < kWindow && tap[1] >= 0 && tap[1] < kWindow;
      if (result == nullptr || !is_seen) continue;
      const float* const weights = WeightsAt(outlier.channel, tap[0] * kWindow + tap[1]);
      for (int64_t k = 0; k < result_channels_; ++k) result[k] += outlier.value * weights[k];
    }
  }
}

void WinogradTiles::ConvolvePixel(int64_t image, int64_t row, int64_t column, float* result) const {
  for (int64_t k = 0; k < result_channels_; ++k) result[k] = bias_ == nullptr ? 0 : bias_[k];
  for (int tap = 0; tap < kTaps; ++tap) {
    const float* const pixel = SourceAt(image, axes_[0].start(row) + tap / kWindow,
                                        axes_[1].start(column) + tap % kWindow);
    if (pixel == nullptr) continue;
    for (int64_t c = 0; c < source_channels_; ++c) {
      const float* const weights = WeightsAt(c, tap);
      for (int64_t k = 0; k < result_channels_; ++k) result[k] += pixel[c] * weights[k];
    }
  }
}

}  // namespace plait
