#pragma once

#include <vector>

#include "optimizer/cover/cover.h"

namespace plait {

// One launch of a cover, by what it runs.
struct CoverLaunch {
  int group = -1;                  // of the table; -1: a reorder
  TensorId reordered = kNoTensor;  // by a reorder
  Format from = Format::kPlain;
  Format to = Format::kPlain;
  double latency_us = 0;          // at the width that the cover was chosen for
  std::vector<int> predecessors;  // as those of a CoverStep
};

// Turns a choice of groups into launches: adds the reorders between groups that disagree about a
// tensor's format, one per tensor and format, and sorts everything so that producers come first
// and, among independent steps, the one whose first node comes first.
// `groups` are indices into the table, in any order. Crashes when a reorder is missing that the
// search must have paid for.
// REQUIRES: the groups run every node once, and no group waits for itself.
std::vector<CoverLaunch> LaunchesOf(const Graph& graph, const CoverTable& table,
                                    const CoverOptions& options, absl::Span<const int> groups);

// The same as steps, which own what they run. Prices are added up anew, so that the sum is that of
// the steps.
Cover MakeCover(const Graph& graph, const KernelTable& table, const CoverOptions& options,
                const std::vector<int>& groups);

}  // namespace plait
