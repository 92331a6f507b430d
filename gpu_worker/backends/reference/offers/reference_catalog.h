#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The kernels of the reference backend: each node by its own evaluation, row-major, on one thread.
// Thread-safe.
class ReferenceCatalog : public KernelCatalog {
 public:
  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  absl::string_view Version(absl::string_view family) const override;
};

}  // namespace plait
