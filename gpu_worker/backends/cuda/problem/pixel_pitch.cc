#include "gpu_worker/backends/cuda/problem/pixel_pitch.h"

#include <algorithm>

namespace plait::cuda {

std::vector<std::byte> Spread(const std::vector<std::byte>& bytes, const PixelPitch& pitch,
                              int64_t element_bytes) {
  if (pitch.is_dense() || bytes.empty()) return bytes;
  const int64_t pixel = pitch.channels * element_bytes, step = pitch.pitch * element_bytes;
  const auto count = static_cast<int64_t>(bytes.size());
  std::vector<std::byte> spread(
      static_cast<size_t>(pitch.SpanOf(count / element_bytes) * element_bytes));
  for (int64_t i = 0; i < count / pixel; ++i) {
    std::copy_n(bytes.begin() + i * pixel, pixel, spread.begin() + i * step);
  }
  return spread;
}

std::vector<std::byte> Collect(const std::vector<std::byte>& bytes, const PixelPitch& pitch,
                               int64_t element_bytes) {
  if (pitch.is_dense() || bytes.empty()) return bytes;
  const int64_t pixel = pitch.channels * element_bytes, step = pitch.pitch * element_bytes;
  std::vector<std::byte> collected;
  for (int64_t at = 0; at < static_cast<int64_t>(bytes.size()); at += step) {
    collected.insert(collected.end(), bytes.begin() + at, bytes.begin() + at + pixel);
  }
  return collected;
}

bool GapsAre(std::byte value, const std::vector<std::byte>& bytes, const PixelPitch& pitch,
             int64_t element_bytes) {
  if (pitch.is_dense()) return true;
  const int64_t pixel = pitch.channels * element_bytes, step = pitch.pitch * element_bytes;
  for (int64_t at = 0; at < static_cast<int64_t>(bytes.size()); ++at) {
    if (at % step >= pixel && bytes[at] != value) return false;
  }
  return true;
}

}  // namespace plait::cuda
