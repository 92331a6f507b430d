#include "gpu_worker/backends/cpu/offers/digit_limits.h"

namespace plait {
namespace {

// Three products of two digits of up to 127 for each number of a row.
constexpr int64_t kDepthMax = 40000;
constexpr int64_t kDigitsMax = int64_t{64} << 20;  // of three planes of the rows
constexpr int64_t kMultiplicationsMin = int64_t{1} << 20;
constexpr int64_t kColumnsMin = 16;
constexpr int64_t kDepthMin = 16;

}  // namespace

bool IsDigitProduct(const ProductShape& shape) {
  if (shape.depth < kDepthMin || shape.depth > kDepthMax || shape.columns < kColumnsMin) {
    return false;
  }
  if (shape.rows <= 0 || shape.rows > kDigitsMax / (3 * (shape.depth + 128))) return false;
  return shape.rows * shape.depth >= kMultiplicationsMin / shape.columns;
}

// Channels are rounded up to steps of 64, of which a few would be nearly empty.
bool IsDigitConvolution(const ConvolutionShape& shape) {
  const int64_t channels = (shape.channels + 63) / 64 * 64;
  if (shape.channels < kDepthMin || shape.window > kDepthMax / channels) return false;
  if (shape.padded_pixels > kDigitsMax / (3 * (channels + 64))) return false;
  return shape.result_channels >= kColumnsMin &&
         shape.result_pixels * shape.channels * shape.window >=
             kMultiplicationsMin / shape.result_channels;
}

}  // namespace plait
