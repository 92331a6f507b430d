#pragma once

#include "gpu_worker/backends/cpu/kernels/pixel_window.h"

namespace plait {

// A depthwise convolution of images in channels-last: its window and weights. Free of state once it
// is loaded.
class DepthwiseWindow {
 public:
  // Reads the node, for which IsDepthwise holds, and packs its weights; the source lies in
  // channels-last. `bias` has a float per channel that sums begin with, or is nullptr.
  // Errors: InvalidArgument (LoadContext::Refuse) for another format; those of ReadWindow.
  static absl::StatusOr<DepthwiseWindow> Load(LoadContext* context, NodeId node, const float* bias);

  // Of the result, over all images.
  int64_t pixels() const { return window_.pixels(); }
  int64_t channels() const { return window_.channels(); }
  int64_t columns() const { return window_.axis(1).output; }  // pixels of a row

  // Writes the pixels from `begin` to `end` of the result, one after the other. A pixel's value
  // does not depend on where a piece begins.
  void Run(int64_t begin, int64_t end, const PixelWindow::Target& target) const;

 private:
  // Packs the weights, of [channel][tap].
  absl::Status Pack(LoadContext* context, TensorId constant);

  PixelWindow window_;
  const LoopTable* loops_ = nullptr;
  bool by_rows_ = false;
  float* weights_ = nullptr;  // [tap][channel], or by rows as in DepthwiseRow
  const float* bias_ = nullptr;
};

}  // namespace plait
