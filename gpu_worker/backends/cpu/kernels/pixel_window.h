#pragma once

#include "absl/functional/function_ref.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {

// A window that moves over images in channels-last, each channel by itself: which pixels of the
// source a pixel of the result is made of. Free of state once it is loaded.
class PixelWindow {
 public:
  // Where pixels of the result go.
  struct Target {
    float* data = nullptr;
    int64_t pixel_floats = 0;  // from one pixel to the next
  };

  // Some pixels of a row of the result, and the taps that their windows have on the source.
  struct Run {
    WindowPixels pixels;
    int64_t at[2] = {};         // row and column of the first pixel
    int64_t first_tap[2] = {};  // row and column of the first tap; no tap may be on the source
  };
  using Visit = absl::FunctionRef<void(const Run& run)>;

  // Some pixels of a row of the result, whose windows may reach into the padding on both sides.
  struct Row {
    WindowRow pixels;
    int64_t at[2] = {};     // row and column of the first pixel
    int64_t first_tap = 0;  // row of the first tap; no tap may be on the source
  };
  using VisitRow = absl::FunctionRef<void(const Row& row)>;

  PixelWindow() = default;
  // REQUIRES: two axes, those of the source.
  PixelWindow(const Operand& source, absl::Span<const WindowAxis> axes);

  // Of the result, over all images.
  int64_t pixels() const { return images_ * axes_[0].output * axes_[1].output; }
  int64_t channels() const { return channels_; }
  // Rows, then columns.
  const WindowAxis& axis(int index) const { return axes_[index]; }

  // Visits runs of the pixels from `begin` to `end` of the result, which go one after the other to
  // the target. Which runs there are beyond a pixel depends on where a piece begins.
  void ForEachRun(int64_t begin, int64_t end, const Target& target, Visit visit) const;
  // The same by rows.
  // REQUIRES: columns are not dilated.
  void ForEachRow(int64_t begin, int64_t end, const Target& target, VisitRow visit) const;

 private:
  // Some pixels of a row of the result.
  struct Piece {
    const float* image = nullptr;  // of the source
    int64_t at[2] = {};            // row and column of the first pixel
    int64_t pixels = 0;
    Target target;
  };
  using VisitPiece = absl::FunctionRef<void(const Piece& piece)>;

  void ForEachPiece(int64_t begin, int64_t end, Target target, VisitPiece visit) const;
  Run RunAt(const Piece& piece) const;
  Row RowAt(const Piece& piece) const;
  int64_t source_row_floats() const { return axes_[1].input * source_pixel_floats_; }

  const float* source_ = nullptr;
  int64_t source_pixel_floats_ = 0;
  int64_t images_ = 0;
  int64_t channels_ = 0;
  WindowAxis axes_[2];
  int64_t inside_[2] = {};  // the columns of the result whose windows lie in the source: [0], [1])
};

}  // namespace plait
