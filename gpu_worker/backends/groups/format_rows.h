#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/format.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// Which nodes of a graph may be one kernel, and in which formats: what the catalogs of all backends
// ask alike. Pure and thread-safe, and linked by the search child too. The map:
//   format_rows          rows of formats (here)
//   node_checks          what a family asks of a node before it runs it
//   epilogue             what convolutions and products apply to their results
//   elementwise_ops      the elementwise operators, one line each
//   elementwise_group    which of them one kernel runs
//   separable_pattern, pointwise     depthwise convolutions and those of single pixels
//   attention_pattern, attention_reader
//                        attention, in whatever nodes it was written
//   move_chains          reshapes and transposes in a row
//   reduced_axes, integer_checks     what reductions and integers of 8 bits are asked
//   row_operand          a normalization's scale and shift

// How the tensors of a kernel lie when the family works in `format`.
struct FormatRow {
  Format format = Format::kPlain;
  std::vector<Format> inputs;   // of InputsOf(graph, nodes)
  std::vector<Format> outputs;  // of OutputsOf(graph, nodes)
};

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
