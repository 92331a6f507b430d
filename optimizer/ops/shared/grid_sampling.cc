#include "optimizer/ops/shared/grid_sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

using GridMode = GridSampling::Mode;
using Padding = GridSampling::Padding;

// The factor of the cubic kernel (Keys, 1981), as in Resize's default.
constexpr double kKernelCubicFactor = -0.75;

// Beyond these no axis has elements, and what is within can be counted in integers.
constexpr double kCoordinateMax = 1 << 30;

// A position among elements, bounced off both ends until it is within them.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double beyond = x < low ? low - x : x - high;
  const double turns = std::floor(beyond / range);
  const double rest = beyond - turns * range;
  const bool from_low = (std::fmod(turns, 2) == 0) == (x < low);
  return from_low ? low + rest : high - rest;
}

double CubicWeight(double distance) {
  constexpr double a = kKernelCubicFactor;
  if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}

}  // namespace

absl::StatusOr<GridSampling> ReadGridSampling(const Attributes& attributes) {
  GridSampling sampling;
  const std::string mode = attributes.String("mode", "linear");
  if (mode == "nearest") {
    sampling.mode = GridMode::kNearest;
  } else if (mode == "cubic") {
    sampling.mode = GridMode::kCubic;
  } else if (mode != "linear") {
    return absl::InvalidArgumentError(
        absl::StrCat("mode must be linear, nearest or cubic, is ", mode));
  }
  const std::string padding = attributes.String("padding_mode", "zeros");
  if (padding == "border") {
    sampling.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    sampling.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return absl::InvalidArgumentError(
        absl::StrCat("padding_mode must be zeros, border or reflection, is ", padding));
  }
  sampling.aligns_corners = attributes.Int("align_corners", 0) != 0;
  return sampling;
}

int64_t TapsOf(const GridSampling& sampling) {
  return sampling.mode == GridMode::kNearest ? 1 : sampling.mode == GridMode::kLinear ? 2 : 4;
}

SampledAxis::SampledAxis(const GridSampling& sampling, int64_t extent)
    : sampling_(sampling),
      extent_(extent),
      low_(sampling.aligns_corners ? 0 : -0.5),
      high_(static_cast<double>(extent) - (sampling.aligns_corners ? 1 : 0.5)) {}

GridTaps SampledAxis::At(double number, DataType dtype) const {
  double x = Position(number, dtype);
  x = x > -kCoordinateMax ? std::min(x, kCoordinateMax) : -kCoordinateMax;
  if (sampling_.mode == GridMode::kNearest) x = std::nearbyint(x);
  if (x < low_ || x > high_) {
    if (sampling_.padding == Padding::kBorder) {
      x = std::clamp(x, 0.0, static_cast<double>(extent_ - 1));
    } else if (sampling_.padding == Padding::kReflection) {
      x = Reflect(x, low_, high_);
    }
  }
  GridTaps taps;
  const auto first = static_cast<int64_t>(std::floor(x));
  const double rest = x - std::floor(x);
  if (sampling_.mode == GridMode::kNearest) {
    taps.elements[0] = ElementAt(static_cast<int64_t>(x));
    taps.weights[0] = 1;
  } else if (sampling_.mode == GridMode::kLinear) {
    taps.count = 2;
    taps.weights = {1 - rest, rest};
    for (int i = 0; i < 2; ++i) taps.elements[i] = ElementAt(first + i);
  } else {
    taps.count = 4;
    for (int i = 0; i < 4; ++i) {
      taps.weights[i] = CubicWeight(std::abs(rest - (i - 1)));
      taps.elements[i] = ElementAt(first - 1 + i);
    }
  }
  return taps;
}

// In the numbers of the grid, as runtimes compute it: in double the nearest element of a position
// between two would be another.
double SampledAxis::Position(double number, DataType dtype) const {
  if (dtype == DataType::kFloat64) {
    return sampling_.aligns_corners ? (number + 1) / 2 * static_cast<double>(extent_ - 1)
                                    : ((number + 1) * static_cast<double>(extent_) - 1) / 2;
  }
  const auto n = static_cast<float>(number);
  return sampling_.aligns_corners ? (n + 1) / 2 * static_cast<float>(extent_ - 1)
                                  : ((n + 1) * static_cast<float>(extent_) - 1) / 2;
}

int64_t SampledAxis::ElementAt(int64_t index) const {
  if (index >= 0 && index < extent_) return index;
  if (sampling_.padding == Padding::kZeros) return -1;
  if (sampling_.padding == Padding::kReflection) {
    index = static_cast<int64_t>(Reflect(static_cast<double>(index), low_, high_));
  }
  return std::clamp<int64_t>(index, 0, extent_ - 1);
}

}  // namespace plait
