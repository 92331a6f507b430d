#include "gpu_worker/executor/sampled_products.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/btree_set.h"
#include "base/random.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {
namespace {

// Channels that are computed at once: as many sums do not wait for each other.
constexpr int64_t kBlockChannels = 16;

// The number of a point in row-major order, each of whose coordinates is drawn by draw(axis).
template <typename Draw>
int64_t DrawPoint(const Shape& axes, Draw draw) {
  int64_t point = 0;
  for (size_t axis = 0; axis < axes.size(); ++axis) point = point * axes[axis] + draw(axis);
  return point;
}

// Up to `count` points of a box, which has none where an axis is empty.
std::vector<int64_t> ChoosePoints(const Shape& axes, int64_t count, Random& random) {
  const int64_t all = ElementsOf(axes);
  absl::btree_set<int64_t> points;
  if (all <= count) {
    for (int64_t point = 0; point < all; ++point) points.insert(point);
    return {points.begin(), points.end()};
  }
  const int64_t corners = std::min(count, int64_t{1} << std::min<size_t>(axes.size(), 4));
  for (int64_t corner = 0; corner < corners; ++corner) {
    points.insert(DrawPoint(axes, [&](size_t axis) {
      return axis < 4 && (corner >> axis & 1) != 0 ? axes[axis] - 1 : 0;
    }));
  }
  std::vector<size_t> bordered;  // the axes that have an inside
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis] > 2) bordered.push_back(axis);
  }
  if (bordered.empty()) bordered = {0};
  // Some are drawn twice where most are taken.
  for (int64_t i = 0; i < 4 * count && static_cast<int64_t>(points.size()) < count; ++i) {
    const size_t border = bordered[random.Integer(0, bordered.size() - 1)];
    const bool at_end = random.Integer(0, 1) != 0;
    points.insert(DrawPoint(axes, [&](size_t axis) {
      if (i % 2 == 0 && axis == border) return at_end ? axes[axis] - 1 : 0;
      return random.Integer(0, axes[axis] - 1);
    }));
  }
  return {points.begin(), points.end()};
}

// Sums of kBlockChannels channels.
struct Sums {
  double exact[kBlockChannels] = {};
  double magnitude[kBlockChannels] = {};
  float serial[kBlockChannels] = {};
};

// `right` holds kBlockChannels numbers for each term.
void AddProducts(absl::Span<const float> left, const float* right, Sums& sums) {
  for (const float value : left) {
    for (int64_t j = 0; j < kBlockChannels; ++j) {
      const double product = static_cast<double>(value) * right[j];
      sums.exact[j] += product;
      sums.magnitude[j] += std::abs(product);
      // Rounded here, whatever the compiler makes of a multiplication and an addition.
      sums.serial[j] += static_cast<float>(product);
    }
    right += kBlockChannels;
  }
}

class Sampler {
 public:
  Sampler(const LayerOperands& layer, const SamplePlaces& places,
          absl::Span<const Tensor* const> inputs)
      : layer_(layer),
        places_(places),
        inputs_(inputs),
        left_(static_cast<size_t>(layer.terms())),
        right_(static_cast<size_t>(layer.terms() * kBlockChannels)) {}

  // Block by block of channels that see the same input.
  std::vector<ProductSample> Run() {
    absl::Span<const int64_t> channels = places_.channels;
    while (!channels.empty()) {
      const int64_t group_end = layer_.GroupEnd(channels.front());
      size_t size = 1;
      while (size < channels.size() && size < kBlockChannels && channels[size] < group_end) ++size;
      AddBlock(channels.first(size));
      channels.remove_prefix(size);
    }
    return std::move(samples_);
  }

 private:
  void AddBlock(absl::Span<const int64_t> channels) {
    int64_t right_offset = -1;
    for (const int64_t point : places_.points) {
      // Points of one matrix of a batch stand beside each other.
      if (layer_.RightOffset(point) != right_offset) {
        right_offset = layer_.RightOffset(point);
        ReadRight(right_offset, channels);
      }
      layer_.ReadLeft(*inputs_[0], point, channels.front(), left_.data());
      Sums sums;
      AddProducts(left_, right_.data(), sums);
      for (size_t j = 0; j < channels.size(); ++j) AddSample(point, channels[j], sums, j);
    }
  }

  // Places behind the last channel keep what they hold, and nobody reads their sums.
  void ReadRight(int64_t offset, absl::Span<const int64_t> channels) {
    for (int64_t k = 0; k < layer_.terms(); ++k) {
      const int64_t row = offset + k * layer_.right_term_stride();
      for (size_t j = 0; j < channels.size(); ++j) {
        right_[k * kBlockChannels + j] =
            inputs_[1]->at<float>(row + channels[j] * layer_.right_channel_stride());
      }
    }
  }

  void AddSample(int64_t point, int64_t channel, const Sums& sums, size_t j) {
    const bool adds = inputs_.size() > 2 && inputs_[2] != nullptr;
    const double addend = adds ? layer_.Addend(*inputs_[2], point, channel) : 0;
    const double factor = layer_.factor();
    samples_.push_back({.element = layer_.Element(point, channel),
                        .exact = factor * sums.exact[j] + addend,
                        .serial = layer_.factor() * sums.serial[j] + static_cast<float>(addend),
                        .magnitude = std::abs(factor) * sums.magnitude[j]});
  }

  const LayerOperands& layer_;
  const SamplePlaces& places_;
  const absl::Span<const Tensor* const> inputs_;
  std::vector<float> left_;
  std::vector<float> right_;
  std::vector<ProductSample> samples_;
};

}  // namespace

// As many channels as points where there are enough of both: of 4,096 samples of a convolution
// with 64 channels, each has 64 points.
SamplePlaces ChoosePlaces(const LayerOperands& layer, int64_t samples_max, uint64_t seed) {
  Random random(seed);
  const int64_t points = ElementsOf(layer.points());
  if (points == 0 || layer.channels() == 0) return {};
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(samples_max)));
  const int64_t channels_wanted = std::max<int64_t>({1, side, samples_max / points});
  SamplePlaces places;
  places.channels = ChoosePoints({layer.channels()}, channels_wanted, random);
  const auto channels = static_cast<int64_t>(places.channels.size());
  places.points =
      ChoosePoints(layer.points(), std::max<int64_t>(1, samples_max / channels), random);
  return places;
}

std::vector<ProductSample> ComputeSamples(const LayerOperands& layer, const SamplePlaces& places,
                                          absl::Span<const Tensor* const> inputs) {
  return Sampler(layer, places, inputs).Run();
}

}  // namespace plait
