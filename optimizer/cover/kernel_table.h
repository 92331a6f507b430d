#pragma once

#include <vector>

#include "optimizer/cover/node_offers.h"
#include "optimizer/cover/part_prices.h"

namespace plait {

// A kernel that can run, with its measured time.
// The bytes and the share are what a simulator needs to know of kernels that run side by side.
struct KernelChoice {
  Kernel kernel;
  double latency_us = 0;     // median, with what is copied for its sake (PartPrices)
  double price_us = 0;       // of the accuracy that it loses (Admissions::PriceUs)
  int64_t bytes = 0;         // that it moves
  double compute_share = 1;  // of the device while it runs, as measured
};

// Ways to run one set of nodes from and to the same formats, which a schedule may exchange freely.
// Where the backend offers only one of the widths, both choices are that one.
// Two kernels of one group differ in implementation and width alone: a cover chooses groups, a
// schedule the width, and neither changes what is read or written.
struct KernelGroup {
  std::vector<NodeId> nodes;      // empty for a reorder
  std::vector<TensorId> inputs;   // InputsOf the nodes
  std::vector<TensorId> outputs;  // OutputsOf the nodes
  std::vector<Format> input_formats;
  std::vector<Format> output_formats;
  KernelChoice whole;  // the fastest of those that leave no room (KernelCatalog::LeavesRoom)
  KernelChoice part;   // the fastest of those that leave room for others
};

// Every kernel that a backend offers for a graph and that has a profile. Immutable once built.
// Thread rule: any number of threads may read it.
struct KernelTable {
  std::vector<KernelGroup> groups;          // by first node, then in the catalog's order
  std::vector<std::vector<int>> groups_at;  // per node: indices of groups that start there
  // Per tensor: empty when no kernel wants it in another format, else one entry per source and
  // target format, at ReorderPlace. No input: that reorder is not wanted or cannot run.
  std::vector<std::vector<KernelGroup>> reorders;

  // The reorder of a tensor from one format to another; nullptr when there is none.
  // O(1). Valid for as long as the table.
  const KernelGroup* FindReorder(TensorId tensor, Format from, Format to) const;
};

// Of a pair of formats, among kFormatCount * kFormatCount.
// The target runs fastest; a format to itself has a place too, which stays empty.
constexpr size_t ReorderPlace(Format from, Format to) {
  return static_cast<size_t>(from) * kFormatCount + static_cast<size_t>(to);
}

// Every kernel that a backend offers for a graph and that is not refused, asked for once; profiles
// may come afterwards.
// Const access from any thread, while no profile is resolved.
class KernelOffers {
 public:
  // Both must outlive the offers, and what the options refer to.
  KernelOffers(const Graph& graph, const KernelTableOptions& options);

  // Appends the kernels that have no profile, with the reorders between their formats; those of
  // single nodes alone, or all. What is missing may name a kernel more than once;
  // ProfileCache::Resolve sorts that out.
  void AppendMissing(bool single_nodes, std::vector<ProfileQuery>* missing) const;

  // Appends what no cover can do without: for every node that no measured kernel can run row-major,
  // its next row-major kernel, the widest ones first, and where none is left whatever
  // AppendMissing(true) has. Nothing, once every node has one or nothing is left to try. Kernels
  // that need admission do not count, because they may be refused.
  void AppendNeeded(std::vector<ProfileQuery>* missing) const;

  // The table of the profiles that there are. Kernels without one, and those that cannot run
  // (samples == 0), are left out. Opaque nodes get a group that costs nothing, so that graphs
  // around them can be compared.
  KernelTable Table() const;

 private:
  using Offer = NodeOffers::Offer;
  // A reorder that some kernel may need.
  struct ReorderOffer {
    TensorId tensor;
    Kernel kernel;
    Fingerprint fingerprint;
  };

  ProfileQuery QueryOf(const Offer& offer) const;
  // The row-major kernel of that node alone to be measured next. `is_known`: there is a measured
  // one that runs, and nothing to do. nullptr: none is left.
  const Offer* NextPlainOffer(NodeId node, bool* is_known) const;
  ProfileOrigin OriginOf(const Kernel& kernel) const;
  // Between all formats in which a kernel of the choice touches a tensor, and row-major, which
  // graphs are read and written in.
  std::vector<ReorderOffer> ReorderOffers(bool single_nodes) const;
  void AppendMissingReorders(absl::Span<const ReorderOffer> reorders,
                             std::vector<ProfileQuery>* missing) const;
  KernelGroup OpaqueGroup(NodeId node) const;
  PartPrices::Measured MeasuredOf(const NodeOffers& at, const Offer& offer,
                                  const Profile& profile) const;
  PartPrices PricesOfParts() const;
  void AddGroupsAt(NodeId node, const PartPrices& prices, KernelTable* table) const;

  const Graph& graph_;
  const KernelTableOptions options_;
  std::vector<NodeOffers> offers_at_;   // per node
  std::vector<ReorderOffer> reorders_;  // between the formats of all of them
};

}  // namespace plait
