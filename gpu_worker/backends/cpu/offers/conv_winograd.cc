#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

// Source times result channels: 36 numbers for each are 300 MB.
constexpr int64_t kWeightsMax = int64_t{1} << 21;

constexpr int64_t kPixelsOfSmallImages = int64_t{16} * 16;
constexpr int64_t kManyChannels = int64_t{384} * 384;  // of the source times of the result

bool AreOnes(const std::vector<int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t number) { return number == 1; });
}

bool RunsConvWinograd(const Graph& graph, NodeId id) {
  if (!IsImageConvolution(graph, id)) return false;
  const Attributes& attributes = *graph.node(id).attributes;
  const Shape& weights = graph.input_type(id, 1).shape;
  return attributes.Int("group", 1) == 1 && AreOnes(attributes.Ints("strides")) &&
         AreOnes(attributes.Ints("dilations")) && weights[2] == 3 && weights[3] == 3 &&
         std::min(weights[0], weights[1]) >= kLoopChannelsMin &&
         weights[0] * weights[1] <= kWeightsMax;
}

// By the extent of a tile. With tiles of 4 x 4 a layer of many channels reads four times the
// weights, and small images many zeros; it is 1.4 to 1.8 times as fast where it is not.
std::vector<std::string> Variants(const Graph& graph, absl::Span<const NodeId> nodes,
                                  const FormatRow&) {
  const Shape& weights = graph.input_type(nodes[0], 1).shape;
  const Shape& result = graph.output_type(nodes[0]).shape;
  if (result[2] * result[3] > kPixelsOfSmallImages) return {"f4"};
  if (weights[0] * weights[1] > kManyChannels) return {"f2"};
  return {"f4", "f2"};
}

std::optional<std::string> MoreExact(absl::string_view variant) {
  if (variant == "f4") return "f2";
  return std::nullopt;
}

// Of the operations of a direct convolution, of which it does a quarter or less than a half.
double ExpectedWinogradShare(const Kernel& kernel) { return kernel.variant == "f4" ? 1.6 : 1.1; }

}  // namespace

const FamilyOffer kConvWinogradOffer = {
    .name = "conv_winograd",
    .runs = RunsConvWinograd,
    .needs_admission = true,
    .instruction_set = "avx2",
    .grow = GrowBehind<RunsConvWinograd>,
    // Vectors are channels of a pixel, which lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .variants = Variants,
    .more_exact = MoreExact,
    .reads_parts = true,
    .writes_parts = true,
    .expected_share = ExpectedWinogradShare,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
