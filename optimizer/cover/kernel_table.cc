#include "optimizer/cover/kernel_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
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
    first_offer_of_.push_back(offers_.size());
    if (graph.node(node).op != OpKind::kOpaque) AddOffersAt(node);
  }
  first_offer_of_.push_back(offers_.size());
  reorders_ = ReorderOffers(/*single_nodes=*/false);
}

void KernelOffers::AddOffersAt(NodeId node) {
  // Variants of one node set follow each other, so what depends on the set alone is kept.
  const size_t first_shape = shapes_.size();
  Fingerprint structure;
  // A variant may be offered, and be another's variant too.
  absl::flat_hash_set<Fingerprint> lossy;
  for (Kernel& offered : options_.catalog.KernelsAt(graph_, node, options_.fuse)) {
    const bool needs_admission = options_.catalog.NeedsAdmission(offered);
    if (needs_admission && !options_.fuse) continue;
    if (shapes_.size() == first_shape || offered.nodes != shapes_.back().nodes) {
      shapes_.push_back(
          {offered.nodes, InputsOf(graph_, offered.nodes), OutputsOf(graph_, offered.nodes)});
      structure = StructureFingerprint(graph_, offered.nodes);
    }
    const int shape = static_cast<int>(shapes_.size()) - 1;
    if (!needs_admission) {
      const Fingerprint fingerprint = KernelFingerprint(structure, offered);
      offers_.push_back({std::move(offered), shape, fingerprint, false});
      continue;
    }
    for (Kernel& kernel : VariantsOf(offered)) {
      const Fingerprint fingerprint = KernelFingerprint(structure, kernel);
      if (!lossy.insert(fingerprint).second) continue;
      offers_.push_back({std::move(kernel), shape, fingerprint, true});
    }
  }
}

bool KernelOffers::IsRefused(const Kernel& kernel) const {
  return options_.admissions != nullptr &&
         options_.admissions->Of(graph_, kernel) == Admission::kRefused;
}

bool KernelOffers::ExchangeRefused(Kernel& kernel) const {
  while (IsRefused(kernel)) {
    std::optional<std::string> variant = options_.catalog.MoreExact(kernel);
    if (!variant.has_value()) return false;
    kernel.variant = *std::move(variant);
  }
  return true;
}

std::vector<Kernel> KernelOffers::VariantsOf(const Kernel& kernel) const {
  if (options_.admissions == nullptr || !options_.admissions->AdmitsLosses()) {
    Kernel exchanged = kernel;
    if (!ExchangeRefused(exchanged)) return {};
    return {std::move(exchanged)};
  }
  std::vector<Kernel> variants;
  const auto add = [&](auto next) {
    Kernel variant = kernel;
    while (std::optional<std::string> name = next(variant)) {
      variant.variant = *std::move(name);
      if (!IsRefused(variant)) variants.push_back(variant);
    }
  };
  add([&](const Kernel& of) { return options_.catalog.LessExact(of); });
  if (!IsRefused(kernel)) variants.push_back(kernel);
  add([&](const Kernel& of) { return options_.catalog.MoreExact(of); });
  return variants;
}

double KernelOffers::PriceUs(const Offer& offer) const {
  if (!offer.needs_admission || options_.admissions == nullptr) return 0;
  return options_.admissions->PriceUs(graph_, offer.kernel);
}

ProfileOrigin KernelOffers::OriginOf(const Kernel& kernel) const {
  return {options_.device.fingerprint, options_.catalog.Version(kernel.family)};
}

// Also of kernels without a profile: the reorders around them are measured in the same batch.
std::vector<KernelOffers::ReorderOffer> KernelOffers::ReorderOffers(bool single_nodes) const {
  std::vector<FormatMask> wanted(graph_.tensor_count(), MaskOf(Format::kPlain));
  for (const Offer& offer : offers_) {
    const Kernel& kernel = offer.kernel;
    if (single_nodes && kernel.nodes.size() > 1) continue;
    const auto& [nodes, inputs, outputs] = shapes_[offer.shape];
    for (size_t i = 0; i < inputs.size(); ++i) {
      wanted[inputs[i]] |= MaskOf(kernel.input_formats[i]);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      wanted[outputs[i]] |= MaskOf(kernel.output_formats[i]);
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
  for (const Offer& offer : offers_) {
    if (single_nodes && offer.kernel.nodes.size() > 1) continue;
    if (options_.profiles.Find(offer.fingerprint) != nullptr) continue;
    missing->push_back(QueryOf(offer));
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
  for (size_t i = first_offer_of_[node]; i < first_offer_of_[node + 1]; ++i) {
    const Offer& offer = offers_[i];
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

double KernelOffers::MovingUs(const Kernel& kernel, absl::Span<const TensorId> inputs,
                              absl::Span<const TensorId> outputs) const {
  if (options_.us_per_byte == 0 || kernel.family == kViewFamily) return 0;
  int64_t bytes = 0;
  for (const TensorId tensor : inputs) bytes += graph_.type(tensor).bytes();
  for (const TensorId tensor : outputs) bytes += graph_.type(tensor).bytes();
  return options_.us_per_byte * static_cast<double>(bytes);
}

PartPrices::Measured KernelOffers::MeasuredOf(const Offer& offer, const Profile& profile) const {
  const Shape& shape = shapes_[offer.shape];
  return {
      .kernel = offer.kernel,
      .inputs = shape.inputs,
      .outputs = shape.outputs,
      .latency_us = profile.latency_us_median + MovingUs(offer.kernel, shape.inputs, shape.outputs),
      .takes_all = offer.kernel.width >= options_.device.threads};
}

PartPrices KernelOffers::PricesOfParts() const {
  std::vector<PartPrices::Measured> measured;
  for (const Offer& offer : offers_) {
    const Profile* const profile = options_.profiles.Find(offer.fingerprint);
    if (profile == nullptr || profile->samples == 0) continue;
    measured.push_back(MeasuredOf(offer, *profile));
  }
  return PartPrices(graph_, options_.catalog, measured);
}

void KernelOffers::AddGroupsAt(NodeId node, const PartPrices& prices, KernelTable* table) const {
  const auto add = [&](KernelGroup group) {
    table->groups_at[node].push_back(static_cast<int>(table->groups.size()));
    table->groups.push_back(std::move(group));
  };
  if (graph_.node(node).op == OpKind::kOpaque) add(OpaqueGroup(node));
  std::vector<OpenGroup> open;
  for (size_t index = first_offer_of_[node]; index < first_offer_of_[node + 1]; ++index) {
    const Offer& offer = offers_[index];
    const Profile* profile = options_.profiles.Find(offer.fingerprint);
    if (profile == nullptr || profile->samples == 0) continue;
    OpenGroup* home = FindHome(open, offer.kernel);
    if (home == nullptr) {
      const auto& [nodes, inputs, outputs] = shapes_[offer.shape];
      home = &open.emplace_back();
      home->group.nodes = nodes;
      home->group.inputs = inputs;
      home->group.outputs = outputs;
      home->group.input_formats = offer.kernel.input_formats;
      home->group.output_formats = offer.kernel.output_formats;
    }
    const PartPrices::Measured measured = MeasuredOf(offer, *profile);
    const double latency_us = prices.LatencyUs(measured);
    const double price_us = PriceUs(offer);
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
    group.whole = {
        .kernel = kernel,
        .latency_us = profile->latency_us_median + MovingUs(kernel, group.inputs, group.outputs),
        .bytes = profile->bytes,
        .compute_share = profile->compute_share};
    group.part = group.whole;
  }
  return table;
}

}  // namespace plait
