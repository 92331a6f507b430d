#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/cover/cover_table.h"
#include "optimizer/cover/node_offers.h"
#include "optimizer/ir/graph_reads.h"
#include "optimizer/kernels/format_mask.h"

namespace plait {

// The kernels that start at a node of some graph, with their prices, and all that decided them.
// Ids are places in two lists of the nodes and tensors that were looked at, so that it stands for
// every node whose surroundings are the same, once the lists are translated. Immutable; any number
// of threads may read it.
struct NodeKernels {
  // A measured kernel of a group: what PartPrices must know of it.
  struct Offer {
    double latency_us = 0;
    double price_us = 0;
    bool takes_all = false;
    bool reads_parts = false;
    bool writes_parts = false;
  };
  // See KernelGroup.
  struct Group {
    std::vector<int> nodes;
    std::vector<int> inputs;
    std::vector<int> outputs;
    std::vector<Format> input_formats;
    std::vector<Format> output_formats;
    bool concatenates = false;  // the kernels put pieces together: see ConcatPiecesOf
    std::vector<Offer> offers;  // in the catalog's order
    WidthTimes latency;         // without what parts cost
    WidthTimes cost;
  };
  // A tensor, and the formats that kernels want it in or give it in.
  struct Wanted {
    int tensor = 0;
    FormatMask formats = 0;
  };

  std::vector<Group> groups;
  std::vector<Wanted> wanted;
  std::vector<int> parts;  // tensors that some kernel writes as parts, in channels-last

  // What was looked at: so many nodes, and of each tensor these parts (GraphReads). Nothing is the
  // same elsewhere when `is_whole`, and then the lists have only what the groups name.
  int nodes_read = 0;
  std::vector<uint8_t> tensor_parts;
  bool is_whole = false;
};

// The fastest times of a group at both widths, latency and cost, where `latency_us` says what an
// offer takes. The first one of equal cost counts. REQUIRES: the group has an offer.
template <typename LatencyOf>
std::pair<WidthTimes, WidthTimes> FastestOf(const NodeKernels::Group& group, LatencyOf latency_us);

// NodeKernels of one node, and the nodes and tensors that it names.
struct PlacedKernels {
  std::shared_ptr<const NodeKernels> kernels;
  std::vector<NodeId> nodes;
  std::vector<TensorId> tensors;
};

// Asks for the kernels of a node, as a KernelTable has them. nullopt when one has no profile yet.
// `reads` is cleared. Pure otherwise.
std::optional<PlacedKernels> KernelsOf(const Graph& graph, NodeId node,
                                       const KernelTableOptions& options, GraphReads& reads);

template <typename LatencyOf>
std::pair<WidthTimes, WidthTimes> FastestOf(const NodeKernels::Group& group, LatencyOf latency_us) {
  struct Fastest {
    bool is_known = false;
    double latency_us = 0;
    double cost_us = 0;
  };
  Fastest of_width[2];
  for (const NodeKernels::Offer& offer : group.offers) {
    const double us = latency_us(offer);
    Fastest& fastest = of_width[offer.takes_all];
    const double cost_us = us + offer.price_us;
    if (!fastest.is_known || cost_us < fastest.cost_us) fastest = {true, us, cost_us};
  }
  const Fastest& whole = of_width[1].is_known ? of_width[1] : of_width[0];
  const Fastest& part = of_width[0].is_known ? of_width[0] : of_width[1];
  return {{whole.latency_us, part.latency_us}, {whole.cost_us, part.cost_us}};
}

}  // namespace plait
