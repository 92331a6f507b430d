#pragma once

#include <vector>

#include "absl/types/span.h"
#include "optimizer/cover/kernel_table.h"
#include "optimizer/ir/graph.h"

namespace plait {

// Where a group's time is taken from while a cover is chosen.
enum class CoverWidth {
  kFastest,  // the faster of its two widths: right when kernels run one after the other
  kPart,     // the one that leaves room: right when they run side by side
};

// Times of one thing to run, by width: see KernelGroup.
struct WidthTimes {
  double whole_us = 0;
  double part_us = 0;

  double At(CoverWidth width) const {
    return width == CoverWidth::kPart || part_us < whole_us ? part_us : whole_us;
  }
};

// What a cover has to know of a KernelGroup. A value that refers to whoever keeps the ids.
struct CoverGroup {
  absl::Span<const NodeId> nodes;
  absl::Span<const TensorId> inputs;
  absl::Span<const TensorId> outputs;
  absl::Span<const Format> input_formats;
  absl::Span<const Format> output_formats;
  WidthTimes latency;
  WidthTimes cost;  // with the price of what the group loses: what a cover has the least of
};

// What covers of one graph are chosen from, small enough to be made for every graph that a search
// prices. Thread rule: any number of threads may read it.
struct CoverTable {
  std::vector<CoverGroup> groups;   // by first node, then in the catalog's order
  std::vector<int> first_group_at;  // per node, and one behind the last
  // Per tensor, a place in `reorders`; -1: no kernel wants it in another format.
  std::vector<int> reorders_of;
  // Of the first so many formats, the last of which is wanted: a device that has no others pays for
  // none of them.
  size_t formats = kFormatCount;
  // From each of these to each, for each tensor one behind the other. Infinite: not wanted, or
  // cannot run.
  std::vector<WidthTimes> reorders;

  // Among the reorders of a tensor. REQUIRES: both are among those formats.
  size_t PlaceOf(Format from, Format to) const {
    return static_cast<size_t>(from) * formats + static_cast<size_t>(to);
  }

  // What the reorder of a tensor from one format to another takes; infinity when there is none.
  double ReorderUs(TensorId tensor, Format from, Format to, CoverWidth width) const;
};

// The groups of a table, in its order. It refers to `table`.
CoverTable CoverTableOf(const KernelTable& table);

}  // namespace plait
