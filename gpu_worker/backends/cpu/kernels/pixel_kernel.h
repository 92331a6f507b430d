#pragma once

#include <algorithm>

#include "gpu_worker/backends/cpu/kernels/pixel_window.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// A kernel that computes the pixels of an image in channels-last, each by itself, and applies what
// follows to them while they are in the first cache. Threads share the pixels in chunks.
class PixelKernel : public CpuKernel {
 public:
  struct Parts {
    int width = 1;
    int64_t pixels = 0;        // of the result
    int64_t chunk_pixels = 1;  // few enough to be in the first cache, enough to hide the epilogue
    PixelWindow::Target result;
    RowEpilogue epilogue;
  };

  absl::Status Run() final;

 protected:
  explicit PixelKernel(Parts parts) : parts_(std::move(parts)) {}

  static PixelWindow::Target PixelsOf(const Operand& result) {
    return {result.floats(), result.pixel_elements()};
  }

  // What pixels begin with; nullptr: 0.
  const float* bias() const { return parts_.epilogue.bias(); }

  // Several chunks for each thread, unless they are smaller than `smallest`.
  static int64_t ChunkPixels(int width, int64_t pixels, int64_t smallest) {
    constexpr int64_t kLargest = 64;
    return std::clamp(pixels / (int64_t{8} * width), smallest, kLargest);
  }

  // About as many, where rows of pixels are best computed whole.
  static int64_t WholeRows(int64_t chunk_pixels, int64_t row_pixels) {
    constexpr int64_t kRowPixelsMax = 128;
    if (row_pixels > kRowPixelsMax) return chunk_pixels;
    return std::max<int64_t>(chunk_pixels / row_pixels, 1) * row_pixels;
  }

 private:
  // Writes the pixels from `begin` to `end` of the result to `to`, one after the other. A pixel's
  // value does not depend on where a piece begins.
  virtual void RunPixels(int64_t begin, int64_t end, const PixelWindow::Target& to) const = 0;

  const Parts parts_;
};

}  // namespace plait
