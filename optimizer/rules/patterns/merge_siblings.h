#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// Of very many siblings the next ones alone are looked at: each of thousands would otherwise offer
// thousands of sets, of thousands.
constexpr size_t kMergedSiblingsMax = 64;
constexpr size_t kPairedSiblingsMax = 16;

// What to merge of `siblings`, of which the first one is the rule's root: all of them, where that
// is more than two, and then the first with each other one. Pairs of the others are found at their
// own first node, and larger sets by merging again. `merge` makes the rewrites of one set, none
// where it must not be merged. {q, k, v} at q gives {q, k, v}, {q, k}, {q, v}.
template <typename Sibling, typename Merge>
Rewrites MergeSets(const std::vector<Sibling>& siblings, Merge merge) {
  Rewrites rewrites;
  const auto offer = [&](absl::Span<const Sibling> set) {
    Rewrites merged = merge(set);
    rewrites.insert(rewrites.end(), std::make_move_iterator(merged.begin()),
                    std::make_move_iterator(merged.end()));
  };
  const size_t merged_count = std::min(siblings.size(), kMergedSiblingsMax);
  if (siblings.size() > 2) offer(absl::MakeConstSpan(siblings).first(merged_count));
  const size_t paired_end = std::min(siblings.size(), 1 + kPairedSiblingsMax);
  for (size_t other = 1; other < paired_end; ++other) {
    const Sibling pair[] = {siblings[0], siblings[other]};
    offer(pair);
  }
  return rewrites;
}

// Ends a rule that computes sibling tensors at once: they become the parts of `merged` along
// `axis`, in order. When all have the same elementwise unary operator as their sole reader, it is
// applied once, before the split, so that the merged kernel can still take it along.
Rewrites ReplaceBySplit(const Graph& graph, RewriteBuilder* builder, TensorId merged, int64_t axis,
                        std::vector<TensorId> siblings);

}  // namespace plait
