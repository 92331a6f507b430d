#include "gpu_worker/backends/cuda/problem/packed_weights.h"

#include <cstring>

namespace plait::cuda {
namespace {

// Null where there is none.
const ConvProblem* DepthwiseOf(const Problem& problem) {
  if (const auto* separable = std::get_if<SeparableConvProblem>(&problem)) {
    return &separable->depthwise;
  }
  const auto* conv = std::get_if<ConvProblem>(&problem);
  return conv != nullptr && conv->is_depthwise() ? conv : nullptr;
}

}  // namespace

bool HasPackedWeights(const Problem& problem) { return DepthwiseOf(problem) != nullptr; }

std::vector<std::byte> PackWeights(const Problem& problem, std::span<const std::byte> weights,
                                   size_t element_bytes) {
  const ConvProblem& p = *DepthwiseOf(problem);
  const auto channels = static_cast<size_t>(p.c), taps = static_cast<size_t>(p.r * p.s);
  std::vector<std::byte> packed(weights.size());
  for (size_t c = 0; c < channels; ++c) {
    for (size_t tap = 0; tap < taps; ++tap) {
      std::memcpy(packed.data() + (tap * channels + c) * element_bytes,
                  weights.data() + (c * taps + tap) * element_bytes, element_bytes);
    }
  }
  return packed;
}

std::vector<float> PackWeights(const Problem& problem, const std::vector<float>& weights) {
  const std::vector<std::byte> packed =
      PackWeights(problem, std::as_bytes(std::span(weights)), sizeof(float));
  std::vector<float> numbers(weights.size());
  if (!numbers.empty()) std::memcpy(numbers.data(), packed.data(), packed.size());
  return numbers;
}

}  // namespace plait::cuda
