#include "gpu_worker/backends/reference/offers/reference_catalog.h"

#include <memory>

namespace plait {

// One kernel per node, whatever its operator.
std::vector<Kernel> ReferenceCatalog::KernelsAt(const Graph& graph, NodeId node,
                                                bool /*fuse*/) const {
  Kernel kernel{.family = "reference", .nodes = {node}};
  kernel.input_formats.assign(InputsOf(graph, kernel.nodes).size(), Format::kPlain);
  kernel.output_formats.assign(OutputsOf(graph, kernel.nodes).size(), Format::kPlain);
  return {kernel};
}

Kernel ReferenceCatalog::Reorder(const TensorType& /*type*/, Format from, Format to) const {
  return Kernel{.family = "reorder", .input_formats = {from}, .output_formats = {to}};
}

// It is there to be right: nobody waits for its times, so they need not be told apart.
absl::string_view ReferenceCatalog::Version(absl::string_view /*family*/) const { return "1"; }

std::unique_ptr<KernelCatalog> NewReferenceCatalog(const DeviceDescription& /*device*/,
                                                   const CatalogOptions& /*options*/) {
  return std::make_unique<ReferenceCatalog>();
}

}  // namespace plait
