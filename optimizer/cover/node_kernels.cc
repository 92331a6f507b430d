#include "optimizer/cover/node_kernels.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "optimizer/kernels/concat_pieces.h"

// %y = Relu(%x), which %z = Exp(%y) reads, in a graph where both have larger ids. Looked at were
// nodes 7 and 8 and tensors %x, %y and %z; the groups are of nodes {0} and {0, 1}, from tensor 0 to
// 1 and to 2. In another graph where Relu and Exp are nodes 9 and 10, and nobody else reads %y
// either, the lists are {9, 10} and the ids of the tensors there, and the groups are these.

namespace plait {
namespace {

// Gives ids their places in the lists as they are met.
class Places {
 public:
  explicit Places(std::vector<int32_t>& list) : list_(list) {}

  int Of(int32_t id) {
    const auto [entry, is_new] = places_.try_emplace(id, static_cast<int>(list_.size()));
    if (is_new) list_.push_back(id);
    return entry->second;
  }

  std::vector<int> Of(absl::Span<const int32_t> ids) {
    std::vector<int> places;
    places.reserve(ids.size());
    for (const int32_t id : ids) places.push_back(Of(id));
    return places;
  }

 private:
  std::vector<int32_t>& list_;
  absl::flat_hash_map<int32_t, int> places_;
};

class NodeKernelsBuilder {
 public:
  NodeKernelsBuilder(const Graph& graph, const KernelTableOptions& options)
      : graph_(graph), options_(options), nodes_(placed_.nodes), tensors_(placed_.tensors) {}

  // False when a profile is missing.
  bool Add(const NodeOffers& offers) {
    for (const NodeOffers::Offer& offer : offers.offers) {
      const Profile* const profile = options_.profiles.Find(offer.fingerprint);
      if (profile == nullptr) return false;
      const NodeOffers::Shape& shape = offers.ShapeOf(offer);
      AddWanted(shape.inputs, offer.kernel.input_formats);
      AddWanted(shape.outputs, offer.kernel.output_formats);
      if (profile->samples > 0) AddOffer(offer, shape, *profile);
    }
    return true;
  }

  // Row-major, of no cost and at every width alike: see KernelOffers.
  void AddOpaque(NodeId node) {
    NodeKernels::Group& group = kernels_.groups.emplace_back();
    group.nodes = {nodes_.Of(node)};
    group.inputs = tensors_.Of(InputsOf(graph_, {node}));
    group.outputs = tensors_.Of(OutputsOf(graph_, {node}));
    group.input_formats.assign(group.inputs.size(), Format::kPlain);
    group.output_formats.assign(group.outputs.size(), Format::kPlain);
    group.offers = {{.takes_all = true}};
  }

  PlacedKernels Finish(const GraphReads& reads) {
    for (NodeKernels::Group& group : kernels_.groups) {
      std::tie(group.latency, group.cost) =
          FastestOf(group, [](const NodeKernels::Offer& offer) { return offer.latency_us; });
    }
    kernels_.is_whole = reads.is_whole();
    if (!kernels_.is_whole) {
      nodes_.Of(reads.nodes());
      tensors_.Of(reads.tensors());
    }
    kernels_.nodes_read = static_cast<int>(placed_.nodes.size());
    for (const TensorId tensor : placed_.tensors) {
      kernels_.tensor_parts.push_back(reads.PartsOf(tensor) | GraphReads::kType);
    }
    placed_.kernels = std::make_shared<const NodeKernels>(std::move(kernels_));
    return std::move(placed_);
  }

 private:
  void AddWanted(absl::Span<const TensorId> tensors, absl::Span<const Format> formats) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const int tensor = tensors_.Of(tensors[i]);
      const auto found = std::find_if(kernels_.wanted.begin(), kernels_.wanted.end(),
                                      [&](const auto& wanted) { return wanted.tensor == tensor; });
      if (found != kernels_.wanted.end()) {
        found->formats |= MaskOf(formats[i]);
      } else {
        kernels_.wanted.push_back({tensor, MaskOf(formats[i])});
      }
    }
  }

  void AddOffer(const NodeOffers::Offer& offer, const NodeOffers::Shape& shape,
                const Profile& profile) {
    const Kernel& kernel = offer.kernel;
    const double latency_us =
        profile.latency_us_median + MovingUs(graph_, kernel, shape.inputs, shape.outputs, options_);
    const NodeKernels::Offer added = {
        .latency_us = latency_us,
        .price_us = PriceUs(graph_, offer, options_),
        .takes_all = !options_.catalog.LeavesRoom(kernel, options_.device.threads),
        .reads_parts = options_.catalog.ReadsParts(kernel),
        .writes_parts = options_.catalog.WritesParts(kernel)};
    GroupOf(kernel, shape).offers.push_back(added);
    if (added.writes_parts) AddParts(shape.outputs, kernel.output_formats);
  }

  void AddParts(absl::Span<const TensorId> outputs, absl::Span<const Format> formats) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (formats[i] != Format::kChannelsLast) continue;
      const int tensor = tensors_.Of(outputs[i]);
      const bool is_known = std::count(kernels_.parts.begin(), kernels_.parts.end(), tensor) > 0;
      if (!is_known) kernels_.parts.push_back(tensor);
    }
  }

  NodeKernels::Group& GroupOf(const Kernel& kernel, const NodeOffers::Shape& shape) {
    const std::vector<int> nodes = nodes_.Of(kernel.nodes);
    for (NodeKernels::Group& group : kernels_.groups) {
      if (group.nodes == nodes && group.input_formats == kernel.input_formats &&
          group.output_formats == kernel.output_formats) {
        return group;
      }
    }
    NodeKernels::Group& group = kernels_.groups.emplace_back();
    group.nodes = nodes;
    group.inputs = tensors_.Of(shape.inputs);
    group.outputs = tensors_.Of(shape.outputs);
    group.input_formats = kernel.input_formats;
    group.output_formats = kernel.output_formats;
    group.concatenates = !ConcatPiecesOf(graph_, kernel).empty();
    return group;
  }

  const Graph& graph_;
  const KernelTableOptions& options_;
  NodeKernels kernels_;
  PlacedKernels placed_;
  Places nodes_;
  Places tensors_;
};

}  // namespace

std::optional<PlacedKernels> KernelsOf(const Graph& graph, NodeId node,
                                       const KernelTableOptions& options, GraphReads& reads) {
  reads.Clear();
  const Graph watched = graph.Watched(&reads);
  NodeKernelsBuilder builder(watched, options);
  if (watched.node(node).op == OpKind::kOpaque) {
    builder.AddOpaque(node);
  } else if (!builder.Add(OffersAt(watched, node, options))) {
    return std::nullopt;
  }
  return builder.Finish(reads);
}

}  // namespace plait
