#pragma once

#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {

// A depthwise convolution of images in channels-last: its weights, and which pixels of the source
// a pixel of the result is made of. Free of state once it is loaded.
class DepthwiseWindow {
 public:
  // Reads the node, for which IsDepthwise holds, and packs its weights; the source lies in
  // channels-last. `bias` has a float per channel that sums begin with, or is nullptr.
  // Errors: InvalidArgument (LoadContext::Refuse) for another format; those of ReadWindow.
  static absl::StatusOr<DepthwiseWindow> Load(LoadContext* context, NodeId node, const float* bias);

  // Of the result, over all images.
  int64_t pixels() const { return images_ * axes_[0].output * axes_[1].output; }
  int64_t channels() const { return channels_; }

  // Writes the pixels from `begin` to `end` of the result, one after the other, from `result` on. A
  // pixel's value does not depend on where a piece begins.
  void Run(int64_t begin, int64_t end, float* result) const;

 private:
  // Pixels of one row under equal taps.
  void RunPixels(const float* image, int64_t row, int64_t column, int64_t count,
                 float* result) const;

  const float* source_ = nullptr;
  float* weights_ = nullptr;  // [tap][channel]
  const float* bias_ = nullptr;
  int64_t images_ = 0;
  int64_t channels_ = 0;
  WindowAxis axes_[2];
  int64_t inside_[2] = {};  // the columns of the result whose windows lie in the source: [0], [1])
};

}  // namespace plait
