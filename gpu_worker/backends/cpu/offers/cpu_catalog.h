#pragma once

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The kernels of the cpu backend, as its families offer them: at a node first the kernels of that
// node alone, then the fused ones; each in every row of formats, on one thread and, where that may
// pay, on all of the device's. Knows no family by name. Thread-safe.
class CpuCatalog : public KernelCatalog {
 public:
  explicit CpuCatalog(DeviceDescription device, const CatalogOptions& options = {})
      : device_(std::move(device)), options_(options) {}

  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  bool NeedsAdmission(const Kernel& kernel) const override;
  std::optional<std::string> MoreExact(const Kernel& kernel) const override;
  std::optional<std::string> LessExact(const Kernel& kernel) const override;
  bool HasPrecision(absl::string_view precision) const override;
  bool ReadsParts(const Kernel& kernel) const override;
  bool WritesParts(const Kernel& kernel) const override;
  bool IsFallback(const Kernel& kernel) const override;
  double ExpectedShare(const Kernel& kernel) const override;
  absl::string_view Version(absl::string_view family) const override;

 private:
  // Whether the device has the family's instructions, and it is asked for.
  bool IsOffered(const FamilyOffer& family) const;
  // Appends the kernel of these nodes in each row of formats and width worth measuring.
  void AddKernels(const Graph& graph, const FamilyOffer& family, const std::vector<NodeId>& nodes,
                  std::vector<Kernel>* kernels) const;

  DeviceDescription device_;
  CatalogOptions options_;
};

}  // namespace plait
