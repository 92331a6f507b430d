#include "optimizer/cover/kernel_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "optimizer/kernels/concat_pieces.h"
#include "optimizer/kernels/format_mask.h"
#include "optimizer/kernels/kernel_key.h"

// Conv and Relu on a device of two threads. The backend offers seven kernels: Conv plain or in
// channels-last, one or two threads wide each, Relu plain and one thread wide, and the pair one or
// two wide in channels-last. They make four groups: at Conv {plain}, {channels-last} and the pair
// {channels-last}, at Relu {plain}; of the first three `whole` is the faster kernel of two threads
// and `part` that of one, of the last both are the same kernel. All three tensors are wanted in
// both formats, so that each gets its two reorders. What has no profile yet is missing from its
// group, and noted.

namespace plait {
namespace {

// A group under construction: the fastest choice of each width so far.
struct OpenGroup {
  KernelGroup group;
  std::optional<KernelChoice> whole;
  std::optional<KernelChoice> part;
};

bool IsFaster(double cost_us, const std::optional<KernelChoice>& best) {
  return !best.has_value() || cost_us < best->latency_us + best->price_us;
}

bool IsRowMajor(const Kernel& kernel) {
  const auto is_plain = [](Format format) { return format == Format::kPlain; };
  return std::all_of(kernel.input_formats.begin(), kernel.input_formats.end(), is_plain) &&
         std::all_of(kernel.output_formats.begin(), kernel.output_formats.end(), is_plain);
}

KernelGroup Close(OpenGroup&& open) {
  open.group.whole = open.whole.has_value() ? *open.whole : *open.part;
  open.group.part = open.part.has_value() ? *open.part : *open.whole;
  return std::move(open.group);
}

// nullptr: a kernel from and to these formats is the first one.
OpenGroup* FindHome(std::vector<OpenGroup>& open, const Kernel& kernel) {
  for (OpenGroup& candidate : open) {
    if (candidate.group.nodes == kernel.nodes &&
        candidate.group.input_formats == kernel.input_formats &&
        candidate.group.output_formats == kernel.output_formats) {
      return &candidate;
    }
  }
  return nullptr;
}

}  // namespace

const KernelGroup* KernelTable::FindReorder(TensorId tensor, Format from, Format to) const {
  const std::vector<KernelGroup>& of_tensor = reorders[tensor];
  if (of_tensor.empty()) return nullptr;
  const KernelGroup& reorder = of_tensor[ReorderPlace(from, to)];
  return reorder.inputs.empty() ? nullptr : &reorder;
}

KernelOffers::KernelOffers(const Graph& graph, const KernelTableOptions& options)
    : graph_(graph), options_(options) {
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    offers_at_.push_back(OffersAt(graph, node, options));
  }
  reorders_ = ReorderOffers(/*single_nodes=*/false);
}

ProfileOrigin KernelOffers::OriginOf(const Kernel& kernel) const {
  return {options_.device.fingerprint, options_.catalog.Version(kernel.family)};
}

// Also of kernels without a profile: the reorders around them are measured in the same batch.
std::vector<KernelOffers::ReorderOffer> KernelOffers::ReorderOffers(bool single_nodes) const {
  std::vector<FormatMask> wanted(graph_.tensor_count(), MaskOf(Format::kPlain));
  for (const NodeOffers& at : offers_at_) {
    for (const Offer& offer : at.offers) {
      const Kernel& kernel = offer.kernel;
      if (single_nodes && kernel.nodes.size() > 1) continue;
      const auto& [nodes, inputs, outputs] = at.ShapeOf(offer);
      for (size_t i = 0; i < inputs.size(); ++i) {
        wanted[inputs[i]] |= MaskOf(kernel.input_formats[i]);
      }
      for (size_t i = 0; i < outputs.size(); ++i) {
        wanted[outputs[i]] |= MaskOf(kernel.output_formats[i]);
      }
    }
  }
  std::vector<ReorderOffer> reorders;
  for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
    for (const Format from : kAllFormats) {
      for (const Format to : kAllFormats) {
        if (from == to || !Has(wanted[tensor], from) || !Has(wanted[tensor], to)) continue;
        Kernel kernel = options_.catalog.Reorder(graph_.type(tensor), from, to);
        const Fingerprint fingerprint = ReorderFingerprint(graph_.type(tensor), kernel);
        reorders.push_back({tensor, std::move(kernel), fingerprint});
      }
    }
  }
  return reorders;
}

ProfileQuery KernelOffers::QueryOf(const Offer& offer) const {
  return {offer.fingerprint, KernelProfileKey(graph_, offer.kernel, OriginOf(offer.kernel))};
}

void KernelOffers::AppendMissing(bool single_nodes, std::vector<ProfileQuery>* missing) const {
  for (const NodeOffers& at : offers_at_) {
    for (const Offer& offer : at.offers) {
      if (single_nodes && offer.kernel.nodes.size() > 1) continue;
      if (options_.profiles.Find(offer.fingerprint) != nullptr) continue;
      missing->push_back(QueryOf(offer));
    }
  }
  if (single_nodes) {
    AppendMissingReorders(ReorderOffers(/*single_nodes=*/true), missing);
  } else {
    AppendMissingReorders(reorders_, missing);
  }
}

void KernelOffers::AppendMissingReorders(absl::Span<const ReorderOffer> reorders,
                                         std::vector<ProfileQuery>* missing) const {
  for (const auto& [tensor, kernel, fingerprint] : reorders) {
    if (options_.profiles.Find(fingerprint) != nullptr) continue;
    missing->push_back(
        {fingerprint, ReorderProfileKey(graph_.type(tensor), kernel, OriginOf(kernel))});
  }
}

const KernelOffers::Offer* KernelOffers::NextPlainOffer(NodeId node, bool* is_known) const {
  const Offer* next = nullptr;
  for (const Offer& offer : offers_at_[node].offers) {
    if (offer.needs_admission || offer.kernel.nodes.size() > 1) continue;
    if (!IsRowMajor(offer.kernel)) continue;
    const Profile* profile = options_.profiles.Find(offer.fingerprint);
    if (profile == nullptr) {
      if (next == nullptr || offer.kernel.width > next->kernel.width) next = &offer;
    } else if (profile->samples > 0) {
      *is_known = true;
    }
  }
  return next;
}

void KernelOffers::AppendNeeded(std::vector<ProfileQuery>* missing) const {
  bool needs_formats = false;
  for (NodeId node = 0; node < graph_.node_count(); ++node) {
    bool is_known = graph_.node(node).op == OpKind::kOpaque;
    const Offer* next = NextPlainOffer(node, &is_known);
    if (is_known) continue;
    if (next != nullptr) {
      missing->push_back(QueryOf(*next));
    } else {
      needs_formats = true;
    }
  }
  if (needs_formats && missing->empty()) AppendMissing(/*single_nodes=*/true, missing);
}

// Row-major, of no cost and as wide as the device, so that nothing runs beside it.
KernelGroup KernelOffers::OpaqueGroup(NodeId node) const {
  KernelGroup group;
  group.nodes = {node};
  group.inputs = InputsOf(graph_, group.nodes);
  group.outputs = OutputsOf(graph_, group.nodes);
  group.input_formats.assign(group.inputs.size(), Format::kPlain);
  group.output_formats.assign(group.outputs.size(), Format::kPlain);
  Kernel kernel;
  kernel.family = "opaque";
  kernel.nodes = group.nodes;
  kernel.width = options_.device.threads;
  kernel.input_formats = group.input_formats;
  kernel.output_formats = group.output_formats;
  group.whole.kernel = kernel;
  group.part = group.whole;
  return group;
}

PartPrices::Measured KernelOffers::MeasuredOf(const NodeOffers& at, const Offer& offer,
                                              const Profile& profile) const {
  const Kernel& kernel = offer.kernel;
  const auto& [nodes, inputs, outputs] = at.ShapeOf(offer);
  const bool concatenates = !ConcatPiecesOf(graph_, kernel).empty();
  return {
      .inputs = inputs,
      .outputs = outputs,
      .input_formats = kernel.input_formats,
      .output_formats = kernel.output_formats,
      .concat = concatenates ? nodes.front() : kNoNode,
      .latency_us = profile.latency_us_median + MovingUs(graph_, kernel, inputs, outputs, options_),
      .takes_all = !options_.catalog.LeavesRoom(kernel, options_.device.threads),
      .reads_parts = options_.catalog.ReadsParts(kernel),
      .writes_parts = options_.catalog.WritesParts(kernel)};
}

PartPrices KernelOffers::PricesOfParts() const {
  std::vector<PartPrices::Measured> measured;
  for (const NodeOffers& at : offers_at_) {
    for (const Offer& offer : at.offers) {
      const Profile* const profile = options_.profiles.Find(offer.fingerprint);
      if (profile == nullptr || profile->samples == 0) continue;
      measured.push_back(MeasuredOf(at, offer, *profile));
    }
  }
  return PartPrices(graph_, options_.catalog.CopyInPlanRatio(), measured);
}

void KernelOffers::AddGroupsAt(NodeId node, const PartPrices& prices, KernelTable* table) const {
  const auto add = [&](KernelGroup group) {
    table->groups_at[node].push_back(static_cast<int>(table->groups.size()));
    table->groups.push_back(std::move(group));
  };
  if (graph_.node(node).op == OpKind::kOpaque) add(OpaqueGroup(node));
  std::vector<OpenGroup> open;
  const NodeOffers& at = offers_at_[node];
  for (const Offer& offer : at.offers) {
    const Profile* profile = options_.profiles.Find(offer.fingerprint);
    if (profile == nullptr || profile->samples == 0) continue;
    OpenGroup* home = FindHome(open, offer.kernel);
    if (home == nullptr) {
      const auto& [nodes, inputs, outputs] = at.ShapeOf(offer);
      home = &open.emplace_back();
      home->group.nodes = nodes;
      home->group.inputs = inputs;
      home->group.outputs = outputs;
      home->group.input_formats = offer.kernel.input_formats;
      home->group.output_formats = offer.kernel.output_formats;
    }
    const PartPrices::Measured measured = MeasuredOf(at, offer, *profile);
    const double latency_us = prices.LatencyUs(measured);
    const double price_us = PriceUs(graph_, offer, options_);
    std::optional<KernelChoice>& best = measured.takes_all ? home->whole : home->part;
    if (!IsFaster(latency_us + price_us, best)) continue;
    best = KernelChoice{.kernel = offer.kernel,
                        .latency_us = latency_us,
                        .price_us = price_us,
                        .bytes = profile->bytes,
                        .compute_share = profile->compute_share};
  }
  for (OpenGroup& group : open) add(Close(std::move(group)));
}

KernelTable KernelOffers::Table() const {
  KernelTable table;
  table.groups_at.resize(graph_.node_count());
  table.reorders.resize(graph_.tensor_count());
  const PartPrices prices = PricesOfParts();
  for (NodeId node = 0; node < graph_.node_count(); ++node) AddGroupsAt(node, prices, &table);
  for (const auto& [tensor, kernel, fingerprint] : reorders_) {
    std::vector<KernelGroup>& of_tensor = table.reorders[tensor];
    of_tensor.resize(size_t{kFormatCount} * kFormatCount);
    const Profile* profile = options_.profiles.Find(fingerprint);
    if (profile == nullptr || profile->samples == 0) continue;
    KernelGroup& group = of_tensor[ReorderPlace(kernel.input_formats[0], kernel.output_formats[0])];
    group.inputs = {tensor};
    group.outputs = {tensor};
    group.input_formats = kernel.input_formats;
    group.output_formats = kernel.output_formats;
    group.whole = {.kernel = kernel,
                   .latency_us = profile->latency_us_median +
                                 MovingUs(graph_, kernel, group.inputs, group.outputs, options_),
                   .bytes = profile->bytes,
                   .compute_share = profile->compute_share};
    group.part = group.whole;
  }
  return table;
}

}  // namespace plait
