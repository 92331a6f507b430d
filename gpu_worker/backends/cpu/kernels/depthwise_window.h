#pragma once

#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// A depthwise convolution of images in channels-last: its weights, and which pixels of the source
// a pixel of the result is made of. Free of state once it is loaded.
class DepthwiseWindow {
 public:
  // Reads the node, for which IsDepthwise holds, and packs its weights; the source lies in
  // channels-last. `bias` has a float per channel that sums begin with, or is nullptr.
  // Errors: InvalidArgument (LoadContext::Refuse) for another format.
  static absl::StatusOr<DepthwiseWindow> Load(LoadContext* context, NodeId node, const float* bias);

  // Of the result, over all images.
  int64_t pixels() const { return images_ * result_size_[0] * result_size_[1]; }
  int64_t channels() const { return channels_; }

  // Writes the pixels from `begin` to `end` of the result, one after the other, from `result` on. A
  // pixel's value does not depend on where a piece begins.
  void Run(int64_t begin, int64_t end, float* result) const;

 private:
  // The taps of a window along an axis that lie in the source.
  struct Taps {
    int64_t first;  // of the window's
    int64_t count;
    int64_t place;  // of the first one, in the source
  };

  Taps TapsOf(int axis, int64_t place) const;
  // Pixels of one row under equal taps.
  void RunPixels(const float* image, const Taps& rows, int64_t column, int64_t count,
                 float* result) const;

  const float* source_ = nullptr;
  float* weights_ = nullptr;  // [tap][channel]
  const float* bias_ = nullptr;
  int64_t images_ = 0;
  int64_t channels_ = 0;
  int64_t size_[2] = {};
  int64_t result_size_[2] = {};
  int64_t window_[2] = {};
  int64_t strides_[2] = {1, 1};
  int64_t dilations_[2] = {1, 1};
  int64_t pads_[2] = {};    // in front
  int64_t inside_[2] = {};  // the columns of the result whose windows lie in the source: [0], [1])
};

}  // namespace plait
