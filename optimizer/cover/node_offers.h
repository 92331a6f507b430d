#pragma once

#include <vector>

#include "optimizer/cost/admissions.h"
#include "optimizer/cost/profile_cache.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/kernels/kernel_key.h"

namespace plait {

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

// The kernels that may start at one node of a graph: what the catalog offers and nothing refuses,
// in the catalog's order. An opaque node has none. A value.
struct NodeOffers {
  // Nodes that some kernels run, which so read and write the same tensors.
  struct Shape {
    std::vector<NodeId> nodes;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
  };
  struct Offer {
    Kernel kernel;
    int shape = 0;  // among `shapes`
    Fingerprint fingerprint;
    bool needs_admission = false;
  };

  const Shape& ShapeOf(const Offer& offer) const { return shapes[offer.shape]; }

  std::vector<Shape> shapes;
  std::vector<Offer> offers;
};

// Pure, as those below: with `graph` watched (Graph::Watched), all that the answer depends on
// beside the options is noted.
NodeOffers OffersAt(const Graph& graph, NodeId node, const KernelTableOptions& options);

// What the accuracy costs that the offered kernel loses, in microseconds.
double PriceUs(const Graph& graph, const NodeOffers::Offer& offer,
               const KernelTableOptions& options);

// What a byte costs of the tensors that go through the kernel, in microseconds.
double MovingUs(const Graph& graph, const Kernel& kernel, absl::Span<const TensorId> inputs,
                absl::Span<const TensorId> outputs, const KernelTableOptions& options);

}  // namespace plait
