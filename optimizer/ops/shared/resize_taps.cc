#include "optimizer/ops/shared/resize_taps.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"

namespace plait {
namespace {

using Coordinates = Resampling::Coordinates;
using Nearest = Resampling::Nearest;

// Positions are float32, because runtimes compute them so: 3 / 0.6f is 5 there and 4.9999998 in
// double, whose floor is another element. A crop can lie anywhere; beyond the farthest position
// everything is outside.
double Rounded(double position) {
  constexpr auto kFarthest = static_cast<double>(2 * kTensorElementsMax);
  return static_cast<double>(static_cast<float>(std::clamp(position, -kFarthest, kFarthest)));
}

double HalfPixel(const ResizedAxis& axis, double position) {
  return Rounded((position + 0.5) / axis.scale) - 0.5;
}

// The middle of the input is that of the output, also where that was rounded down.
double SymmetricOffset(const ResizedAxis& axis) {
  return static_cast<double>(axis.input) / 2 * (1 - static_cast<double>(axis.output) / axis.extent);
}

double CropPosition(const ResizedAxis& axis, double position) {
  const auto last = static_cast<double>(axis.input - 1);
  if (axis.extent == 1) return (axis.roi_begin + axis.roi_end) / 2 * last;
  return axis.roi_begin * last +
         position * (axis.roi_end - axis.roi_begin) * last / (axis.extent - 1);
}

// Where on the input an element of the output lies.
double PositionOf(Coordinates coordinates, const ResizedAxis& axis, double position) {
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return HalfPixel(axis, position);
    case Coordinates::kHalfPixelSymmetric:
      return SymmetricOffset(axis) + HalfPixel(axis, position);
    case Coordinates::kPytorchHalfPixel:
      return axis.output > 1 ? HalfPixel(axis, position) : 0;
    case Coordinates::kAlignCorners:
      if (axis.extent == 1) return 0;
      return position * static_cast<double>(axis.input - 1) / (axis.extent - 1);
    case Coordinates::kAsymmetric:
      return position / axis.scale;
    case Coordinates::kCrop:
      return CropPosition(axis, position);
  }
  return 0;
}

double NearestTo(Nearest nearest, double position) {
  switch (nearest) {
    case Nearest::kRoundPreferFloor:
      return std::ceil(position - 0.5);
    case Nearest::kRoundPreferCeil:
      return std::floor(position + 0.5);
    case Nearest::kFloor:
      return std::floor(position);
    case Nearest::kCeil:
      return std::ceil(position);
  }
  return 0;
}

// The weight of an element at some distance. Cubic: R. Keys, Cubic Convolution Interpolation for
// Digital Image Processing (1981), equation 4.
double WeightAt(const Resampling& resampling, double distance) {
  const double x = std::abs(distance);
  if (resampling.mode == Resampling::Mode::kLinear) return std::max(0.0, 1 - x);
  const double a = resampling.cubic_coeff_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// How much wider the weights are than without antialias; their sum is 1 again afterwards.
double WeightStretch(const Resampling& resampling, const ResizedAxis& axis) {
  return resampling.antialias ? std::max(1.0, 1 / axis.scale) : 1;
}

double Radius(const Resampling& resampling, const ResizedAxis& axis) {
  return (resampling.mode == Resampling::Mode::kLinear ? 1 : 2) * WeightStretch(resampling, axis);
}

void AddNearest(const Resampling& resampling, const ResizedAxis& axis, double position,
                AxisTaps* taps) {
  const auto element = static_cast<int64_t>(NearestTo(resampling.nearest, position));
  taps->elements.push_back(std::clamp<int64_t>(element, 0, axis.input - 1));
  taps->weights.push_back(1);
}

void AddInterpolated(const Resampling& resampling, const ResizedAxis& axis, double position,
                     AxisTaps* taps) {
  const double stretch = WeightStretch(resampling, axis);
  const auto first = static_cast<int64_t>(std::floor(position - Radius(resampling, axis))) + 1;
  const size_t begin = taps->weights.size();
  double sum = 0;
  for (int64_t element = first; element < first + taps->count; ++element) {
    const int64_t nearest = std::clamp<int64_t>(element, 0, axis.input - 1);
    double weight = WeightAt(resampling, (static_cast<double>(element) - position) / stretch);
    if (resampling.exclude_outside && nearest != element) weight = 0;
    taps->elements.push_back(nearest);
    taps->weights.push_back(weight);
    sum += weight;
  }
  if (sum == 0) return;
  for (size_t i = begin; i < taps->weights.size(); ++i) taps->weights[i] /= sum;
}

}  // namespace

bool IsKept(const Resampling& resampling, const ResizedAxis& axis) {
  const bool is_cut =
      resampling.coordinates == Coordinates::kCrop && (axis.roi_begin != 0 || axis.roi_end != 1);
  return axis.scale == 1 && axis.input == axis.output && !is_cut;
}

int64_t TapsPerElement(const Resampling& resampling, const ResizedAxis& axis) {
  if (resampling.mode == Resampling::Mode::kNearest) return 1;
  return static_cast<int64_t>(std::ceil(2 * Radius(resampling, axis)));
}

AxisTaps TapsOf(const Resampling& resampling, const ResizedAxis& axis) {
  AxisTaps taps;
  taps.count = TapsPerElement(resampling, axis);
  for (int64_t index = 0; index < axis.output; ++index) {
    const double position =
        Rounded(PositionOf(resampling.coordinates, axis, static_cast<double>(index)));
    taps.is_outside.push_back(resampling.coordinates == Coordinates::kCrop &&
                              (position < 0 || position > static_cast<double>(axis.input - 1)));
    if (resampling.mode == Resampling::Mode::kNearest) {
      AddNearest(resampling, axis, position, &taps);
    } else {
      AddInterpolated(resampling, axis, position, &taps);
    }
  }
  return taps;
}

}  // namespace plait
