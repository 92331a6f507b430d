#include "gpu_worker/backends/cpu/kernels/pixel_window.h"

#include <algorithm>

namespace plait {

PixelWindow::PixelWindow(const Operand& source, absl::Span<const WindowAxis> axes)
    : source_(source.floats()),
      source_pixel_floats_(source.pixel_elements()),
      images_(source.type.shape[0]),
      channels_(source.type.shape[1]) {
  std::copy(axes.begin(), axes.end(), axes_);
  const WindowAxis& columns = axes_[1];
  const auto is_inside = [&](int64_t column) {
    return columns.kernel_end(column) - columns.kernel_begin(column) == columns.kernel;
  };
  while (inside_[0] < columns.output && !is_inside(inside_[0])) ++inside_[0];
  inside_[1] = inside_[0];
  while (inside_[1] < columns.output && is_inside(inside_[1])) ++inside_[1];
}

void PixelWindow::ForEachRun(int64_t begin, int64_t end, Target target, Visit visit) const {
  const WindowAxis& rows = axes_[0];
  const WindowAxis& columns = axes_[1];
  while (begin < end) {
    const int64_t row = begin / columns.output;
    const float* const image =
        source_ + row / rows.output * rows.input * columns.input * source_pixel_floats_;
    int64_t column = begin % columns.output;
    const int64_t columns_end = std::min(columns.output, column + end - begin);
    while (column < columns_end) {
      const bool is_inside = inside_[0] <= column && column < inside_[1];
      const int64_t count = is_inside ? std::min(inside_[1], columns_end) - column : 1;
      visit(RunAt(image, row % rows.output, column, count, target));
      column += count;
      begin += count;
      target.data += count * target.pixel_floats;
    }
  }
}

PixelWindow::Run PixelWindow::RunAt(const float* image, int64_t row, int64_t column, int64_t count,
                                    const Target& target) const {
  Run run;
  run.at[0] = row;
  run.at[1] = column;
  WindowPixels& pixels = run.pixels;
  int64_t place[2];  // of the first tap
  for (int axis = 0; axis < 2; ++axis) {
    run.first_tap[axis] = axes_[axis].kernel_begin(run.at[axis]);
    pixels.taps[axis] =
        std::max<int64_t>(axes_[axis].kernel_end(run.at[axis]) - run.first_tap[axis], 0);
    place[axis] = axes_[axis].start(run.at[axis]) + run.first_tap[axis] * axes_[axis].dilation;
  }
  const int64_t row_floats = axes_[1].input * source_pixel_floats_;
  if (pixels.taps[0] == 0 || pixels.taps[1] == 0) {
    run.first_tap[0] = run.first_tap[1] = place[0] = place[1] = 0;
  }
  pixels.x = image + place[0] * row_floats + place[1] * source_pixel_floats_;
  pixels.x_pixel_floats = axes_[1].stride * source_pixel_floats_;
  pixels.x_tap_floats[0] = axes_[0].dilation * row_floats;
  pixels.x_tap_floats[1] = axes_[1].dilation * source_pixel_floats_;
  pixels.y = target.data;
  pixels.y_pixel_floats = target.pixel_floats;
  pixels.pixels = count;
  pixels.channels = channels_;
  return run;
}

}  // namespace plait
