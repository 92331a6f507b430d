#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The kernels of the reference backend: each node by its own evaluation, row-major, on one thread.
// Thread-safe.
// It never fuses and never fails: what a graph means is what this backend computes, and tests
// compare the others with it.
class ReferenceCatalog : public KernelCatalog {
 public:
  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  // A family of its own, which the executable passes over: values here have no format.
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  // Always "1".
  absl::string_view Version(absl::string_view family) const override;
};

}  // namespace plait
