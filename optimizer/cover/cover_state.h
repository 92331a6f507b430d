#pragma once

#include <cstring>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "optimizer/cover/cover.h"
#include "optimizer/kernels/format_mask.h"

namespace plait {

// A tensor that some uncovered node still reads, or that is still to be produced.
struct LiveTensor {
  TensorId tensor = kNoTensor;
  FormatMask available = 0;  // formats it exists in; 0: not produced yet
  FormatMask demanded = 0;   // formats that readers want which were covered before its producer
  friend auto operator<=>(const LiveTensor&, const LiveTensor&) = default;
};
using LiveTensors = absl::InlinedVector<LiveTensor, 8>;

// Of thousands, where a node has as many siblings, so they are compared as bytes.
static_assert(std::has_unique_object_representations_v<LiveTensor>);
inline bool AreEqual(const LiveTensors& a, const LiveTensors& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
}

// A partial cover, as far as the rest of the graph can tell partial covers apart. What it costs to
// go on depends on nothing else: prices of groups are fixed, and a reorder is paid once, as soon as
// both the tensor and the wish for another format are there.
struct CoverState {
  absl::InlinedVector<NodeId, 8> ahead;  // covered nodes behind the first uncovered one, sorted
  LiveTensors live;                      // sorted by tensor

  // The rest is how the state was reached, and takes no part in what can follow.
  double latency_us = 0;
  double ahead_us = 0;  // what the nodes in `ahead` would cost one by one; for ranking only
  int parent = -1;      // the choice that was made before
  int group = -1;       // the group that was chosen then; -1: nothing is covered yet

  // Whether the same groups can follow at the same prices: then only the cheaper state is worth
  // keeping.
  // Bellman's principle: whatever follows the dearer one follows the cheaper one for less.
  bool SameFuture(const CoverState& other) const {
    return ahead == other.ahead && AreEqual(live, other.live);
  }
};

}  // namespace plait
