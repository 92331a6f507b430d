#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"

namespace plait {

// "[1,2,3]"
std::string ListOf(absl::Span<const int64_t> numbers);

int64_t AnyOf(Random& random, std::initializer_list<int64_t> numbers);

// From 1 to 97: every second time one at which vectors and tiles of channels end unevenly.
int64_t AnyChannels(Random& random);

// The shape of one to three images of up to 29 x 29 pixels.
std::string AnyImage(Random& random);

// A window that moves over an image, and fits into it.
struct Window {
  std::vector<int64_t> taps;  // by axis, as all below
  std::vector<int64_t> size;  // of the image
  std::vector<int64_t> outputs;
  std::string text;  // attributes: pads, strides and dilations
};
// `taps_max` is odd.
Window AnyWindow(Random& random, int64_t taps_max);

// Layers with constant weights, of some million multiply-adds at most, and what may follow them: a
// bias, something that is added, an activation.
std::string AnyConvolution(Random& random);
std::string PointwiseConvolution(Random& random);
std::string ThreeByThreeConvolution(Random& random);  // stride 1, as Winograd takes them
std::string StemConvolution(Random& random);          // three channels
std::string GroupedConvolution(Random& random);
std::string DepthwiseConvolution(Random& random);
std::string SeparableConvolution(Random& random);
std::string TransposedConvolution(Random& random);
std::string ConstantProduct(Random& random);
std::string ProductOfTwo(Random& random);  // both given, with one to three matrices of each
std::string SqueezeAndExcite(Random& random);

}  // namespace plait
