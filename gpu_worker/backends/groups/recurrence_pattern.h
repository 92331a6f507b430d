#pragma once

#include <optional>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// The steps of a recurrence, unrolled: tensors are taken apart along one axis (Split), every step
// computes its row from rows of its own and from those of the step before, and the rows are put
// together again (Concat). No column looks at another one. Simple recurrent units are such, whose
// products by matrices are computed for all steps at once. (T. Lei et al., Simple Recurrent Units
// for Highly Parallelizable Recurrence, 2018, section 2.)

// How the tensors of a group lie: as rows along one axis, before which there is no other and behind
// which are the columns.
struct RowFrame {
  int rank = 0;
  int axis = 0;
  Shape columns;  // the dimensions behind the axis

  int64_t column_count() const;

  // The rows of a tensor: 1 for what is the same in all rows, also for a single number. nullopt: it
  // lies otherwise, or holds no floats.
  std::optional<int64_t> RowsOf(const TensorType& type) const;
};

// The frame of the first Split of the nodes; nullopt: there is none whose parts are rows.
std::optional<RowFrame> FrameOf(const Graph& graph, absl::Span<const NodeId> nodes);

// The largest convex group of nodes in one frame that begins at `node`; empty where that is no
// recurrence: without a Split or a Concat, or of few nodes.
std::vector<NodeId> GrowRecurrence(const Graph& graph, NodeId node);

// Whether the nodes are what a kernel of the family can run: all in the frame of their first Split.
bool IsRecurrence(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait
