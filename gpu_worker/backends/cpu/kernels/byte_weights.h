#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/kernels/integer_convolution.h"
#include "gpu_worker/backends/cpu/loops/byte_loops.h"

namespace plait {

// A QLinearConv in channels-last as the loops over bytes have it: without groups, or depthwise.
struct ByteLayer : IntegerConvolution {
  const ByteLoops* loops = nullptr;
  std::vector<int64_t> segments;     // where each begins, in bytes from a window; depthwise: none
  int64_t quads = 0;                 // of a segment
  const int8_t* weights = nullptr;   // see PackByteWeights
  std::vector<int32_t> weight_sums;  // by channel
  uint8_t* image = nullptr;          // [padded lines, padded columns, channels]; nullptr: no copy
  uint8_t* padding = nullptr;        // depthwise: a line of zero points
  uint8_t* edges = nullptr;  // depthwise: what lies under a window at an edge, of each thread

  bool is_depthwise() const { return source_channels == 1 && channels == 1 && groups > 1; }
  // Whether windows are single pixels, each one once: then images are rows of pixels.
  bool is_flat() const;
  // Whether the image is copied: for its padding, or since the last four bytes of a window reach
  // beyond the channels. Never of a depthwise convolution.
  bool copies() const;
  // What is added to the image's bytes, so that they are from 0 to 255, and how: in their first
  // bit.
  int32_t source_offset() const { return source.type.dtype == DataType::kInt8 ? 128 : 0; }
  uint8_t flip() const { return static_cast<uint8_t>(source_offset()); }
  int64_t image_bytes() const { return window[0].input * window[1].input * pixel_channels(); }
  int64_t padded_channels() const;
  // Of the window of a block of channels.
  int64_t edge_bytes() const;
  // Of the weights of a block of channels, which is shorter where it is the last one.
  int64_t block_bytes() const;
  // Where a channel has its addend and factor.
  int64_t PlaceOf(int64_t channel) const;
};

// Whether all weights less their zero points are from -128 to 127.
bool HasByteWeights(const IntegerConvolution& layer, const Tensor& values);

// Sets segments and quads of a layer that is not depthwise.
void SetByteSegments(ByteLayer* layer);

// Weights [M, C/g, ...] less their zero points, as ByteTile::right or ByteDepthwise::weights
// has them, and their sums. REQUIRES: HasByteWeights; the layer has its segments.
// Errors: ResourceExhausted.
absl::Status PackByteWeights(LoadContext* context, const Tensor& values, ByteLayer* layer);

}  // namespace plait
