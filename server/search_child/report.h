#pragma once

#include "absl/types/span.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"
#include "plait/v1/report.pb.h"

namespace plait {

// What a report tells of a search besides its result.
// References must outlive it.
// Seconds are of the wall clock.
struct SearchFacts {
  const Graph& graph;  // as bound, before any change
  absl::Span<const OpaqueNode> opaque_nodes;
  absl::string_view body;  // of the result's file
  absl::Span<const std::string> warnings;
  // The three sum up to the time from the first byte of the model to the written output.
  double seconds = 0;  // without the two below
  double profiling_seconds = 0;
  double verification_seconds = 0;
  // Kernel profiles of this search: measured for it, known at its start, and those of the former
  // beside which the device was not steady.
  int64_t profiles_measured = 0;
  int64_t profiles_cached = 0;
  int64_t profiles_unsteady = 0;
};

// The report of a finished search, without id, output and digests, which the daemon fills in.
// Pure and thread-safe.
// Around opaque nodes the parts between them ran on the device one by one, and the verdict is the
// least that was said of one which was changed. A warning says why a verdict is inconclusive and
// what was returned for it.
v1::Report MakeReport(const internal::Start& start, const SearchFacts& facts,
                      const SearchResult& result);

// The found plan with what a listing shows of it; the latency is the simulator's, of one run, and
// not told where nothing is measured. With islands it has the texts of all of them, and sums of
// what they have.
// Pure and thread-safe.
v1::Plan MakePlanMessage(const SearchResult& result);

}  // namespace plait
