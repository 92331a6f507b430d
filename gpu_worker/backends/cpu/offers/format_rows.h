#pragma once

#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// Rows of formats, as families build them. Pure and thread-safe.

// The row of a kernel that works in `format`: every tensor in it, as far as it applies to the
// tensor's type (EffectiveFormat).
FormatRow RowIn(const Graph& graph, absl::Span<const NodeId> nodes, Format format);

// A row for each format, in order, without those whose tensors lie as in an earlier one: there the
// family would do the same again.
std::vector<FormatRow> RowsIn(const Graph& graph, absl::Span<const NodeId> nodes,
                              absl::Span<const Format> formats);

// For families that read and write row-major only.
std::vector<FormatRow> PlainRow(const Graph& graph, absl::Span<const NodeId> nodes);

// For families that read and write channels-last only.
std::vector<FormatRow> ChannelsLastRow(const Graph& graph, absl::Span<const NodeId> nodes);

// For families that walk any strides: row-major and, from and to rank 4, channels-last.
std::vector<FormatRow> SpatialRows(const Graph& graph, absl::Span<const NodeId> nodes);

// Whether the node's first input and output have rank 4: images, for which channels-last is there.
bool IsSpatial(const Graph& graph, NodeId node);

// One variant, named after the format that the family works in.
std::vector<std::string> NameOfFormat(const Graph& graph, absl::Span<const NodeId> nodes,
                                      const FormatRow& row);

}  // namespace plait
