#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

// The loops work on whole vectors of channels.
constexpr int64_t kChannels = 16;

// Channels a group: with more, oneDNN's kernels are at the processor's pace, but those with strides
// are at less than half of it.
constexpr int64_t kGroupChannelsMax = 4;
constexpr int64_t kStridedGroupChannelsMax = 16;

bool HasFewChannels(const Attributes& attributes, int64_t channels_of_group) {
  const std::vector<int64_t> strides = attributes.Ints("strides");
  const bool is_strided =
      std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s > 1; });
  return channels_of_group > 1 &&
         channels_of_group <= (is_strided ? kStridedGroupChannelsMax : kGroupChannelsMax);
}

bool RunsConvGrouped(const Graph& graph, NodeId id) {
  if (!IsImageConvolution(graph, id)) return false;
  const int64_t groups = graph.node(id).attributes->Int("group", 1);
  const int64_t channels = graph.output_type(id).shape[1];
  const int64_t of_group = channels / groups;
  const bool is_power_of_two = (of_group & (of_group - 1)) == 0;
  return groups > 1 && channels % kChannels == 0 && graph.input_type(id, 0).shape[1] == channels &&
         HasFewChannels(*graph.node(id).attributes, of_group) && is_power_of_two;
}

}  // namespace

const FamilyOffer kConvGroupedOffer = {
    .name = "conv_grouped",
    .runs = RunsConvGrouped,
    .instruction_set = "avx2",
    .grow = GrowBehind<RunsConvGrouped>,
    // Vectors are channels of a pixel, which lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
