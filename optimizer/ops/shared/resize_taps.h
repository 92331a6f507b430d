#pragma once

#include <cstdint>
#include <vector>

// What Resize computes, one axis at a time: an element of the output is a weighted sum of elements
// of the input, its taps. Images from 2 to 4 elements, linear and by half pixels: element 1 of the
// output lies at (1 + 1/2) / 2 - 1/2 = 0.25 of the input, and its taps are 3/4 of element 0 and 1/4
// of element 1. Along several axes the weights multiply, so that each can be resized by itself.
// Pure and thread-safe.
namespace plait {

// How an output is read from an input, the same along every axis.
struct Resampling {
  enum class Mode { kNearest, kLinear, kCubic };
  // From a position of the output to one of the input.
  enum class Coordinates {
    kHalfPixel,
    kHalfPixelSymmetric,
    kPytorchHalfPixel,
    kAlignCorners,
    kAsymmetric,
    kCrop,  // ONNX: tf_crop_and_resize
  };
  // The element that stands for a position between two.
  enum class Nearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

  Mode mode = Mode::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
  double cubic_coeff_a = -0.75;
  bool exclude_outside = false;  // of the input; else its edge is repeated
  bool antialias = false;        // a smaller output averages all that lies in between
};

// In elements.
struct ResizedAxis {
  int64_t input = 1;
  int64_t output = 1;
  double scale = 1;      // a float32
  double extent = 1;     // the output before it became a whole number, which corners refer to
  double roi_begin = 0;  // what a crop takes of the input, whose ends are 0 and 1
  double roi_end = 1;
};

// Whether the output along the axis is the input.
bool IsKept(const Resampling& resampling, const ResizedAxis& axis);

struct AxisTaps {
  int64_t count = 1;  // of each element of the output; element i has those from i * count on
  std::vector<int64_t> elements;  // of the input
  std::vector<double> weights;
  std::vector<bool> is_outside;  // per element of the output: a crop has no input for it
};

// AxisTaps::count. REQUIRES: input >= 1, output >= 1.
int64_t TapsPerElement(const Resampling& resampling, const ResizedAxis& axis);

// The taps of all elements of the output: in all at most eight times the elements of both.
// REQUIRES: input >= 1, output >= 1.
AxisTaps TapsOf(const Resampling& resampling, const ResizedAxis& axis);

}  // namespace plait
