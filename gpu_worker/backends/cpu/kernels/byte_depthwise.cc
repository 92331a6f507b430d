#include "gpu_worker/backends/cpu/kernels/byte_depthwise.h"

#include <algorithm>
#include <cstring>

namespace plait {

ByteDepthwiseLine::ByteDepthwiseLine(const ByteLayer& layer, int thread)
    : layer_(layer),
      edge_(layer.edges + thread * layer.edge_bytes()),
      lines_(layer.window[0].kernel),
      of_pixel_(lines_.size()) {}

void ByteDepthwiseLine::Run(const uint8_t* source, int64_t row, int64_t first,
                            const ByteResult& result, uint8_t* y) {
  const WindowAxis& rows = layer_.window[0];
  const WindowAxis& columns = layer_.window[1];
  const int64_t channels = layer_.groups;
  for (int64_t i = 0; i < rows.kernel; ++i) {
    const int64_t line = row * rows.stride - rows.pad_begin + i * rows.dilation;
    const bool is_there = line >= 0 && line < rows.input;
    lines_[i] = (is_there ? source + line * columns.input * channels : layer_.padding) + first;
  }
  pixels_ = {.flip = layer_.flip(),
             .lines = of_pixel_.data(),
             .line_count = rows.kernel,
             .columns = columns.kernel,
             .column_step = columns.dilation * channels,
             .weights = layer_.weights + first / kByteBlockChannels * layer_.block_bytes(),
             .channels = static_cast<int>(std::min<int64_t>(kByteBlockChannels, channels - first)),
             .result = result,
             .pixel_step = columns.stride * channels,
             .y_step = channels};
  const auto [begin, end] = Inner();
  for (int64_t x = 0; x < begin; ++x) RunEdge(x, y);
  if (begin < end) RunInner(begin, end, y);
  for (int64_t x = end; x < columns.output; ++x) RunEdge(x, y);
}

std::pair<int64_t, int64_t> ByteDepthwiseLine::Inner() const {
  const WindowAxis& axis = layer_.window[1];
  const int64_t last = axis.input - 1 + axis.pad_begin - (axis.kernel - 1) * axis.dilation;
  const int64_t begin = std::min(CeilDiv(axis.pad_begin, axis.stride), axis.output);
  const int64_t end = last < 0 ? 0 : std::min(last / axis.stride + 1, axis.output);
  return {begin, std::max(begin, end)};
}

void ByteDepthwiseLine::RunInner(int64_t begin, int64_t end, uint8_t* y) {
  const WindowAxis& axis = layer_.window[1];
  const int64_t x = begin * axis.stride - axis.pad_begin;
  for (size_t i = 0; i < lines_.size(); ++i) of_pixel_[i] = lines_[i] + x * layer_.groups;
  pixels_.pixels = end - begin;
  pixels_.y = y + begin * layer_.groups;
  layer_.loops->depthwise(pixels_);
}

void ByteDepthwiseLine::RunEdge(int64_t pixel, uint8_t* y) {
  const WindowAxis& axis = layer_.window[1];
  const auto zero = static_cast<uint8_t>(layer_.source_zero_point.integer(0));
  uint8_t* to = edge_;
  for (size_t i = 0; i < lines_.size(); ++i) {
    of_pixel_[i] = to;
    for (int64_t column = 0; column < axis.kernel; ++column, to += kByteBlockChannels) {
      const int64_t x = pixel * axis.stride - axis.pad_begin + column * axis.dilation;
      if (x < 0 || x >= axis.input) {
        std::memset(to, zero, pixels_.channels);
      } else {
        std::memcpy(to, lines_[i] + x * layer_.groups, pixels_.channels);
      }
    }
  }
  ByteDepthwise one = pixels_;
  one.column_step = one.pixel_step = kByteBlockChannels;
  one.pixels = 1;
  one.y = y + pixel * layer_.groups;
  layer_.loops->depthwise(one);
}

}  // namespace plait
