#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/rewrite.h"

namespace plait {

// Rewrites of one graph that keep out of each other's way, so that applying all of them at once
// gives what applying one after the other gives, in whatever order. Of
//
//   %a = Identity(%x)  %b = Relu(%a)  %c = Exp(%b)  %d = Identity(%c)  %e = Relu(%d)
//
// both Identities go at once: the first one changes %a and %b, the second one %d and %e and reads
// %c. Without the Exp the second one would read what the first one changes. Not thread-safe.
class RewriteBatch {
 public:
  // `graph` must outlive the batch.
  explicit RewriteBatch(const Graph& graph) : graph_(graph), uses_(graph.node_count(), kUnused) {}

  // Adds the rewrite and returns true, unless it changes a node that another one changes or reads,
  // or reads one that another one changes; or unless nodes would have to move, which the first
  // rewrite alone may ask for. The first one is always added.
  bool Add(Rewrite rewrite);

  // In the order in which they were added.
  absl::Span<const Rewrite> rewrites() const { return rewrites_; }

 private:
  enum Use : uint8_t { kUnused, kRead, kChanged };

  // What the rewrite does to nodes of the graph; a node may come twice.
  std::vector<std::pair<NodeId, Use>> UsesOf(const Rewrite& rewrite) const;
  // False for a wrong rewrite that names what the graph does not have; Apply says what it is.
  bool NamesWhatThereIs(const Rewrite& rewrite) const;
  bool KeepsOrder(const Rewrite& rewrite) const;

  const Graph& graph_;
  std::vector<Use> uses_;  // per node, of all rewrites
  std::vector<Rewrite> rewrites_;
  bool is_full_ = false;  // the first one moves nodes, or is wrong
};

}  // namespace plait
