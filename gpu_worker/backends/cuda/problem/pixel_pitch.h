#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::cuda {

// How the pixels of an image in channels-last lie where it is a part of another one: `pitch`
// elements from one to the next, of which the first `channels` are its own. A dense image, and
// whatever is no image, has neither.
struct PixelPitch {
  int64_t channels = 0;
  int64_t pitch = 0;

  bool is_dense() const { return pitch == 0; }
  // From the first of so many elements to behind the last one.
  int64_t SpanOf(int64_t elements) const {
    return is_dense() || elements == 0 ? elements : (elements / channels - 1) * pitch + channels;
  }

  friend bool operator==(const PixelPitch&, const PixelPitch&) = default;
};

// Of the operands of a problem. Weights and biases are dense.
struct OperandPitches {
  std::vector<PixelPitch> inputs;  // in the problem's order; those behind the end are dense
  std::vector<PixelPitch> outputs;
  PixelPitch residual;

  PixelPitch input(size_t i) const { return i < inputs.size() ? inputs[i] : PixelPitch(); }
  PixelPitch output(size_t i) const { return i < outputs.size() ? outputs[i] : PixelPitch(); }
  bool are_dense() const { return *this == OperandPitches(); }

  friend bool operator==(const OperandPitches&, const OperandPitches&) = default;
};

// An image's bytes where they lie in its span, with zeros between, and back.
// REQUIRES: `bytes` are whole pixels; of the second, a span of them.
std::vector<std::byte> Spread(const std::vector<std::byte>& bytes, const PixelPitch& pitch,
                              int64_t element_bytes);
std::vector<std::byte> Collect(const std::vector<std::byte>& bytes, const PixelPitch& pitch,
                               int64_t element_bytes);

// Whether all bytes between the pixels of the span are this one.
bool GapsAre(std::byte value, const std::vector<std::byte>& bytes, const PixelPitch& pitch,
             int64_t element_bytes);

}  // namespace plait::cuda
