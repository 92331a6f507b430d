#include "optimizer/cover/graph_kernels.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "optimizer/cover/part_prices.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

// Writes the table of one graph: ids first, then the groups that refer to them.
class TableWriter {
 public:
  TableWriter(const PartPrices& prices, size_t ids_max) : prices_(prices) {
    // Groups refer to them, so they must not move.
    owned_.ids.reserve(ids_max);
  }

  void BeginNode(NodeId node) {
    node_ = node;
    owned_.table.first_group_at.push_back(static_cast<int>(owned_.table.groups.size()));
  }

  void Add(const NodeKernels::Group& group, const NodeId* nodes, const TensorId* tensors) {
    CoverGroup& added = owned_.table.groups.emplace_back();
    added = {.nodes = Translated(group.nodes, nodes),
             .inputs = Translated(group.inputs, tensors),
             .outputs = Translated(group.outputs, tensors),
             .input_formats = group.input_formats,
             .output_formats = group.output_formats,
             .latency = group.latency,
             .cost = group.cost};
    PartPrices::Measured measured = {.inputs = added.inputs,
                                     .outputs = added.outputs,
                                     .input_formats = added.input_formats,
                                     .output_formats = added.output_formats,
                                     .concat = group.concatenates ? node_ : kNoNode};
    if (!prices_.Touch(measured)) return;
    std::tie(added.latency, added.cost) = FastestOf(group, [&](const NodeKernels::Offer& offer) {
      measured.latency_us = offer.latency_us;
      measured.takes_all = offer.takes_all;
      measured.reads_parts = offer.reads_parts;
      measured.writes_parts = offer.writes_parts;
      return prices_.LatencyUs(measured);
    });
  }

  OwnedCoverTable Finish() {
    owned_.table.first_group_at.push_back(static_cast<int>(owned_.table.groups.size()));
    return std::move(owned_);
  }

 private:
  absl::Span<const int32_t> Translated(const std::vector<int>& places, const int32_t* list) {
    const size_t first = owned_.ids.size();
    for (const int place : places) owned_.ids.push_back(list[place]);
    return absl::MakeConstSpan(owned_.ids.data() + first, places.size());
  }

  const PartPrices& prices_;
  NodeId node_ = kNoNode;
  OwnedCoverTable owned_;
};

// The fastest times of a node's kernels that put pieces together; nullopt when it has none.
std::optional<PartPrices::Times> ConcatTimes(const NodeKernels& kernels) {
  std::optional<PartPrices::Times> times;
  for (const NodeKernels::Group& group : kernels.groups) {
    if (!group.concatenates) continue;
    if (!times.has_value()) times = PartPrices::Times{{kNever, kNever}};
    for (const NodeKernels::Offer& offer : group.offers) {
      double& us = times->us[offer.takes_all];
      us = std::min(us, offer.latency_us);
    }
  }
  return times;
}

}  // namespace

std::optional<WidthTimes> ReorderTimes::Find(const TensorType& type, Format from, Format to) {
  std::vector<std::optional<WidthTimes>>& of_type = known_[{type.dtype, type.shape}];
  of_type.resize(size_t{kFormatCount} * kFormatCount);
  std::optional<WidthTimes>& times = of_type[ReorderPlace(from, to)];
  if (!times.has_value()) times = LookUp(type, from, to);
  return times;
}

std::optional<WidthTimes> ReorderTimes::LookUp(const TensorType& type, Format from,
                                               Format to) const {
  const Kernel kernel = options_.catalog.Reorder(type, from, to);
  const Profile* const profile = options_.profiles.Find(ReorderFingerprint(type, kernel));
  if (profile == nullptr) return std::nullopt;
  if (profile->samples == 0) return WidthTimes{kNever, kNever};
  const bool moves = options_.us_per_byte != 0 && kernel.family != kViewFamily;
  const int64_t bytes = BytesOf(type, from) + BytesOf(type, to);
  const double us =
      profile->latency_us_median + (moves ? options_.us_per_byte * static_cast<double>(bytes) : 0);
  return WidthTimes{us, us};
}

std::shared_ptr<const GraphKernels> GraphKernels::Of(const Graph& graph, const NamedGraph* before,
                                                     const GraphKernels* kernels_before,
                                                     const KernelTableOptions& options) {
  auto kernels = std::make_shared<GraphKernels>();
  kernels->at_.resize(graph.node_count());
  if (before != nullptr && kernels_before != nullptr) {
    kernels->TakeOver(*kernels_before, CommonPart(*before, graph));
  }
  GraphReads reads(graph.node_count(), graph.tensor_count());
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (kernels->at_[node].kernels != nullptr) continue;
    const std::optional<PlacedKernels> placed = KernelsOf(graph, node, options, reads);
    if (!placed.has_value()) return nullptr;
    kernels->Append(*placed, node);
  }
  return kernels;
}

void GraphKernels::Append(const PlacedKernels& placed, NodeId node) {
  at_[node] = {placed.kernels, nodes_.size(), tensors_.size()};
  nodes_.insert(nodes_.end(), placed.nodes.begin(), placed.nodes.end());
  tensors_.insert(tensors_.end(), placed.tensors.begin(), placed.tensors.end());
}

bool GraphKernels::IsUnchanged(const AtNode& at, const CommonPart& common) const {
  const NodeKernels& kernels = *at.kernels;
  if (kernels.is_whole) return false;
  for (int i = 0; i < kernels.nodes_read; ++i) {
    if (!common.IsSame(nodes_[at.first_node + i])) return false;
  }
  for (size_t i = 0; i < kernels.tensor_parts.size(); ++i) {
    if (!common.AreSame(tensors_[at.first_tensor + i], kernels.tensor_parts[i])) return false;
  }
  return true;
}

void GraphKernels::TakeOver(const GraphKernels& before, const CommonPart& common) {
  for (NodeId node = 0; node < static_cast<NodeId>(before.at_.size()); ++node) {
    const AtNode& at = before.at_[node];
    if (!before.IsUnchanged(at, common)) continue;
    at_[common.NodeOf(node)] = {at.kernels, nodes_.size(), tensors_.size()};
    for (int i = 0; i < at.kernels->nodes_read; ++i) {
      nodes_.push_back(common.NodeOf(before.nodes_[at.first_node + i]));
    }
    for (size_t i = 0; i < at.kernels->tensor_parts.size(); ++i) {
      tensors_.push_back(common.TensorOf(before.tensors_[at.first_tensor + i]));
    }
    ++taken_over_;
  }
}

std::optional<OwnedCoverTable> GraphKernels::Table(const Graph& graph,
                                                   const KernelTableOptions& options,
                                                   ReorderTimes& reorders) const {
  std::vector<PartPrices::Concat> concats;
  std::vector<bool> may_be_part(graph.tensor_count());
  std::vector<FormatMask> wanted(graph.tensor_count(), MaskOf(Format::kPlain));
  size_t ids = 0;
  for (NodeId node = 0; node < static_cast<NodeId>(at_.size()); ++node) {
    const auto& [kernels, first_node, first_tensor] = at_[node];
    if (const auto times = ConcatTimes(*kernels)) concats.push_back({node, *times});
    for (const int part : kernels->parts) may_be_part[tensors_[first_tensor + part]] = true;
    for (const auto& [tensor, formats] : kernels->wanted) {
      wanted[tensors_[first_tensor + tensor]] |= formats;
    }
    for (const NodeKernels::Group& group : kernels->groups) {
      ids += group.nodes.size() + group.inputs.size() + group.outputs.size();
    }
  }
  const PartPrices prices(graph, options.catalog.CopyInPlanRatio(), concats, may_be_part);
  TableWriter writer(prices, ids);
  for (NodeId node = 0; node < static_cast<NodeId>(at_.size()); ++node) {
    const auto& [kernels, first_node, first_tensor] = at_[node];
    writer.BeginNode(node);
    for (const NodeKernels::Group& group : kernels->groups) {
      writer.Add(group, nodes_.data() + first_node, tensors_.data() + first_tensor);
    }
  }
  OwnedCoverTable owned = writer.Finish();
  CoverTable& table = owned.table;
  table.reorders_of.assign(graph.tensor_count(), -1);
  FormatMask any_wanted = MaskOf(Format::kPlain);
  for (const FormatMask formats : wanted) any_wanted |= formats;
  table.formats = static_cast<size_t>(std::bit_width(any_wanted));
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (wanted[tensor] == MaskOf(Format::kPlain)) continue;
    const size_t first = table.reorders.size();
    table.reorders_of[tensor] = static_cast<int>(first);
    table.reorders.resize(first + table.formats * table.formats, {kNever, kNever});
    for (const Format from : kAllFormats) {
      for (const Format to : kAllFormats) {
        if (from == to || !Has(wanted[tensor], from) || !Has(wanted[tensor], to)) continue;
        const std::optional<WidthTimes> times = reorders.Find(graph.type(tensor), from, to);
        if (!times.has_value()) return std::nullopt;
        table.reorders[first + table.PlaceOf(from, to)] = *times;
      }
    }
  }
  return owned;
}

}  // namespace plait
