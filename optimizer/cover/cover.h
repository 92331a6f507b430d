#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/cover/cover_table.h"
#include "optimizer/ir/graph.h"

// Map of this folder: node_offers asks a backend for the kernels of a node; kernel_table looks up
// those of a graph and their profiles, priced with the copies that they make necessary
// (part_prices); cover chooses among them (from a cover_table; its states are in cover_state);
// cover_steps turns the choice into launches with the reorders between them (conversions).
// optimizer/schedule goes on from a Cover. A search that prices one graph after another takes
// graph_kernels instead of a kernel_table: the same, made of what the last graph had
// (node_kernels).
namespace plait {

// The group's time under a choice of width.
inline double LatencyUs(const KernelGroup& group, CoverWidth width) {
  return WidthTimes{group.whole.latency_us, group.part.latency_us}.At(width);
}

// What is covered, and how thoroughly. A value; what it asks for beyond the table is time and
// memory, both of which grow with states_max.
struct CoverOptions {
  CoverWidth width = CoverWidth::kFastest;
  // True for a piece of a larger graph: its inputs may come and its outputs may leave in any
  // format, because the neighbours that decide it are not in sight. False: both are row-major.
  bool free_boundary = false;
  // States kept per position. The cover is optimal when no position ever has more.
  int states_max = 32;
  // How many launches may run side by side, with what gap in front of each: more than one has
  // FindCover make the longest path shorter (ShortenPath).
  int streams = 1;
  double launch_gap_us = 0;
};

// A tensor in one format.
struct FormattedTensor {
  TensorId tensor = kNoTensor;
  Format format = Format::kPlain;
  friend auto operator<=>(const FormattedTensor&, const FormattedTensor&) = default;
};

// One launch: a kernel, or a reorder between kernels that disagree about a tensor's format.
// Inputs and outputs are those of the group with its formats, in its order.
struct CoverStep {
  KernelGroup group;
  std::vector<FormattedTensor> inputs;
  std::vector<FormattedTensor> outputs;
  // Nothing else orders steps: those without a path between them may run side by side.
  std::vector<int> predecessors;  // steps that produce the inputs, ascending, all smaller
};

// A choice of kernels that runs every node exactly once, in an order that respects their inputs.
// Owns copies of its groups, so that it outlives the table it was chosen from.
struct Cover {
  std::vector<CoverStep> steps;
  // Launch gaps and overlap are not in it: those are a schedule's.
  double latency_us = 0;  // sum over steps at the width that the cover was chosen for
};

// Chooses the kernels that run `graph` with the least total time, reorders included: a dynamic
// program over the nodes in topological order (operator fusion as AutoGTCO's F[j], ICCAD 2021,
// generalized from intervals to convex sets). A state is the first node that is not yet covered,
// the later nodes that are, and for every tensor that is still to be read the formats it exists in;
// of equal states the cheapest is kept. On a chain there are few states and the result is optimal;
// where branches lie side by side the states multiply, and only the best `states_max` survive. A
// set of kernels that would wait for each other in a circle is never chosen. Pure and thread-safe;
// equal tables give equal covers.
// REQUIRES: `table` was built for `graph`; states_max is positive.
// Errors: FailedPrecondition naming a node that no measured kernel can run.
absl::StatusOr<Cover> FindCover(const Graph& graph, const KernelTable& table,
                                const CoverOptions& options);

// The same choice as indices into the table, by first node: without the launches, which take longer
// to write down than to price (LaunchesOf).
absl::StatusOr<std::vector<int>> ChooseGroups(const Graph& graph, const CoverTable& table,
                                              const CoverOptions& options);

}  // namespace plait
