#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gpu_worker/executor/layer_operands.h"

namespace plait {

// Some elements of a layer's result: those of all `points` in all `channels`. Ascending.
struct SamplePlaces {
  std::vector<int64_t> points;
  std::vector<int64_t> channels;
};

// At most `samples_max` of them, and all where there are no more. Corners come first, then places
// at the border of some axis and any places in turn: kernels that compute in tiles err there.
// Equal for equal operands and seeds.
SamplePlaces ChoosePlaces(const LayerOperands& layer, int64_t samples_max, uint64_t seed);

// One element of a layer's result.
struct ProductSample {
  int64_t element = 0;  // its index in the result
  double exact = 0;     // in float64; products of float32 are exact there
  // In fp32: the products, each rounded, are added one after the other in ascending order, then the
  // factor is applied and the addend added.
  float serial = 0;
  double magnitude = 0;  // the sum of |input * weight|, times the factor
};

// The samples at all places. `inputs` are those of the node, constants included; null for an
// omitted one. Takes about 1.5 ms for 4,096 sums of 576 products on one core.
std::vector<ProductSample> ComputeSamples(const LayerOperands& layer, const SamplePlaces& places,
                                          absl::Span<const Tensor* const> inputs);

}  // namespace plait
