#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/cost/admissions.h"
#include "optimizer/cost/profile_cache.h"
#include "optimizer/cover/part_prices.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/kernels/kernel_key.h"

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
  KernelChoice whole;  // the fastest that takes all of the device's threads
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

// What a table is made from.
// All of it must outlive the call, and neither profiles nor admissions change meanwhile.
struct KernelTableOptions {
  const DeviceDescription& device;
  const KernelCatalog& catalog;
  const ProfileCache& profiles;
  // False for the baseline, whose kernels are single nodes and need no admission.
  bool fuse = true;
  // Kernels that it refuses are not offered, and where it admits losses less exact ones are.
  // nullptr: nothing is refused.
  const Admissions* admissions = nullptr;
  // What each byte of the values that a kernel reads and writes costs beside its profile, in
  // microseconds: see SearchDevice. Views move none.
  double us_per_byte = 0;
};

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
  // Nodes that some kernels run, which so read and write the same tensors.
  struct Shape {
    std::vector<NodeId> nodes;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
  };
  struct Offer {
    Kernel kernel;
    int shape = 0;
    Fingerprint fingerprint;
    bool needs_admission = false;
  };
  // A reorder that some kernel may need.
  struct ReorderOffer {
    TensorId tensor;
    Kernel kernel;
    Fingerprint fingerprint;
  };

  void AddOffersAt(NodeId node);
  bool IsRefused(const Kernel& kernel) const;
  // Exchanges a variant that is refused for a more exact one; false: all are refused.
  bool ExchangeRefused(Kernel& kernel) const;
  // What may run in the kernel's place: itself, or the one that it is exchanged for. Where losses
  // are admitted, all of its variants, because each has its price.
  std::vector<Kernel> VariantsOf(const Kernel& kernel) const;
  double PriceUs(const Offer& offer) const;
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
  // What a byte costs of the tensors that go through the kernel, in microseconds.
  double MovingUs(const Kernel& kernel, absl::Span<const TensorId> inputs,
                  absl::Span<const TensorId> outputs) const;
  PartPrices::Measured MeasuredOf(const Offer& offer, const Profile& profile) const;
  PartPrices PricesOfParts() const;
  void AddGroupsAt(NodeId node, const PartPrices& prices, KernelTable* table) const;

  const Graph& graph_;
  const KernelTableOptions options_;
  std::vector<Shape> shapes_;
  std::vector<Offer> offers_;           // by first node, then in the catalog's order
  std::vector<size_t> first_offer_of_;  // per node, and one behind the last
  std::vector<ReorderOffer> reorders_;  // between the formats of all of them
};

}  // namespace plait
