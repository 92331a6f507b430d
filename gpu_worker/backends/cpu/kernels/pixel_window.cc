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

void PixelWindow::ForEachPiece(int64_t begin, int64_t end, Target target, VisitPiece visit) const {
  const WindowAxis& rows = axes_[0];
  const int64_t columns = axes_[1].output;
  while (begin < end) {
    const int64_t row = begin / columns;
    const int64_t column = begin % columns;
    const int64_t pixels = std::min(columns - column, end - begin);
    visit({.image = source_ + row / rows.output * rows.input * source_row_floats(),
           .at = {row % rows.output, column},
           .pixels = pixels,
           .target = target});
    begin += pixels;
    target.data += pixels * target.pixel_floats;
  }
}

void PixelWindow::ForEachRow(int64_t begin, int64_t end, const Target& target,
                             VisitRow visit) const {
  ForEachPiece(begin, end, target, [&](const Piece& piece) { visit(RowAt(piece)); });
}

void PixelWindow::ForEachRun(int64_t begin, int64_t end, const Target& target, Visit visit) const {
  ForEachPiece(begin, end, target, [&](const Piece& piece) {
    Piece part = piece;
    int64_t& column = part.at[1];
    const int64_t columns_end = column + piece.pixels;
    while (column < columns_end) {
      const bool is_inside = inside_[0] <= column && column < inside_[1];
      part.pixels = is_inside ? std::min(inside_[1], columns_end) - column : 1;
      visit(RunAt(part));
      column += part.pixels;
      part.target.data += part.pixels * target.pixel_floats;
    }
  });
}

PixelWindow::Row PixelWindow::RowAt(const Piece& piece) const {
  const WindowAxis& rows = axes_[0];
  const WindowAxis& columns = axes_[1];
  Row row{.at = {piece.at[0], piece.at[1]}, .first_tap = rows.kernel_begin(piece.at[0])};
  const int64_t row_taps = std::max<int64_t>(rows.kernel_end(piece.at[0]) - row.first_tap, 0);
  if (row_taps == 0) row.first_tap = 0;
  // Without taps there is no such row.
  const int64_t first_row =
      row_taps == 0 ? 0 : rows.start(piece.at[0]) + row.first_tap * rows.dilation;
  row.pixels = {.x = piece.image + first_row * source_row_floats(),
                .x_row_floats = rows.dilation * source_row_floats(),
                .x_pixel_floats = source_pixel_floats_,
                .columns = columns.input,
                .column = columns.start(piece.at[1]),
                .row_taps = row_taps,
                .taps = columns.kernel,
                .stride = columns.stride,
                .y = piece.target.data,
                .y_pixel_floats = piece.target.pixel_floats,
                .pixels = piece.pixels,
                .channels = channels_};
  return row;
}

PixelWindow::Run PixelWindow::RunAt(const Piece& piece) const {
  Run run;
  run.at[0] = piece.at[0];
  run.at[1] = piece.at[1];
  WindowPixels& pixels = run.pixels;
  int64_t place[2];  // of the first tap
  for (int axis = 0; axis < 2; ++axis) {
    run.first_tap[axis] = axes_[axis].kernel_begin(run.at[axis]);
    pixels.taps[axis] =
        std::max<int64_t>(axes_[axis].kernel_end(run.at[axis]) - run.first_tap[axis], 0);
    place[axis] = axes_[axis].start(run.at[axis]) + run.first_tap[axis] * axes_[axis].dilation;
  }
  const int64_t row_floats = source_row_floats();
  if (pixels.taps[0] == 0 || pixels.taps[1] == 0) {
    run.first_tap[0] = run.first_tap[1] = place[0] = place[1] = 0;
  }
  pixels.x = piece.image + place[0] * row_floats + place[1] * source_pixel_floats_;
  pixels.x_pixel_floats = axes_[1].stride * source_pixel_floats_;
  pixels.x_tap_floats[0] = axes_[0].dilation * row_floats;
  pixels.x_tap_floats[1] = axes_[1].dilation * source_pixel_floats_;
  pixels.y = piece.target.data;
  pixels.y_pixel_floats = piece.target.pixel_floats;
  pixels.pixels = piece.pixels;
  pixels.channels = channels_;
  return run;
}

}  // namespace plait
