#pragma once

#include <utility>
#include <vector>

#include "gpu_worker/backends/cpu/kernels/byte_weights.h"

namespace plait {

// A thread's way through the lines of a depthwise convolution of one image. What lies under a
// window is read where it is: lines above and below the image are one of padding, and a window that
// reaches beyond a line's ends is copied, with its padding.
class ByteDepthwiseLine {
 public:
  // The layer stays with the caller. REQUIRES: layer.is_depthwise().
  ByteDepthwiseLine(const ByteLayer& layer, int thread);

  // The block of channels from `first` on of line `row` of the result. `result` and `y`, the line's
  // first pixel, begin with that channel. REQUIRES: the layer's padding has been written.
  void Run(const uint8_t* source, int64_t row, int64_t first, const ByteResult& result, uint8_t* y);

 private:
  // The pixels whose windows lie in the image, as far as columns go.
  std::pair<int64_t, int64_t> Inner() const;
  void RunInner(int64_t begin, int64_t end, uint8_t* y);
  void RunEdge(int64_t pixel, uint8_t* y);

  const ByteLayer& layer_;
  uint8_t* edge_;
  std::vector<const uint8_t*> lines_;     // of the window, from their first columns on
  std::vector<const uint8_t*> of_pixel_;  // the same, under the window of a pixel
  ByteDepthwise pixels_;
};

}  // namespace plait
