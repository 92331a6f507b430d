#pragma once

#include <cstdint>

namespace plait {

// What of a product decides whether it is worth computing in digits, and possible.
struct ProductShape {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

// The same of a convolution: places of the window and pixels of an image with what it is padded by.
struct ConvolutionShape {
  int64_t channels;
  int64_t window;
  int64_t padded_pixels;
  int64_t result_channels;
  int64_t result_pixels;  // of all images
};

// Whether a product is large enough that writing its rows as digits does not cost more than is
// gained, and small enough that sums of digits fit into int32 and the digits into scratch memory.
bool IsDigitProduct(const ProductShape& shape);
bool IsDigitConvolution(const ConvolutionShape& shape);

}  // namespace plait
