#include "gpu_worker/backends/reference/offers/reference_catalog.h"

namespace plait {

std::vector<Kernel> ReferenceCatalog::KernelsAt(const Graph& graph, NodeId node,
                                                bool /*fuse*/) const {
  Kernel kernel{.family = "reference", .nodes = {node}};
  kernel.input_layouts.assign(InputsOf(graph, kernel.nodes).size(), Layout::kPlain);
  kernel.output_layouts.assign(OutputsOf(graph, kernel.nodes).size(), Layout::kPlain);
  return {kernel};
}

Kernel ReferenceCatalog::Reorder(const TensorType& /*type*/, Layout from, Layout to) const {
  return Kernel{.family = "reorder", .input_layouts = {from}, .output_layouts = {to}};
}

}  // namespace plait
