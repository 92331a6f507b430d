#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The kernels of the cpu backend: convolutions and matrix products with what follows them,
// elementwise groups, softmax with its mask, and one kernel per other operator; each in the formats
// and widths that differ in time. Thread-safe.
class CpuCatalog : public KernelCatalog {
 public:
  explicit CpuCatalog(DeviceDescription device) : device_(std::move(device)) {}

  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;

 private:
  // Appends the kernel in each format and width worth measuring.
  void AddVariants(const Graph& graph, absl::string_view family, const std::vector<NodeId>& nodes,
                   std::vector<Kernel>* kernels) const;
  void AddFused(const Graph& graph, NodeId node, absl::string_view family,
                std::vector<Kernel>* kernels) const;

  DeviceDescription device_;
};

}  // namespace plait
