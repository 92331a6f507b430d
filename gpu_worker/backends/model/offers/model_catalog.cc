#include "gpu_worker/backends/model/offers/model_catalog.h"

#include <algorithm>
#include <memory>

#include "gpu_worker/backends/model/offers/model_families.h"

namespace plait {
namespace {

void AddKernels(const Graph& graph, const ModelFamily& family, const std::vector<NodeId>& nodes,
                std::vector<Kernel>* kernels) {
  const auto formats = family.formats != nullptr ? family.formats : family.like.formats;
  for (const FormatRow& row : formats(graph, nodes)) {
    kernels->push_back({.family = std::string(family.name),
                        .nodes = nodes,
                        .input_formats = row.inputs,
                        .output_formats = row.outputs});
  }
}

bool TakesParts(const Kernel& kernel) {
  const absl::Span<const ModelFamily> families = ModelFamilies();
  return std::any_of(families.begin(), families.end(), [&](const ModelFamily& family) {
    return family.name == kernel.family && family.takes_parts;
  });
}

}  // namespace

std::vector<Kernel> ModelCatalog::KernelsAt(const Graph& graph, NodeId node, bool fuse) const {
  std::vector<Kernel> kernels;
  for (const bool last_resort : {false, true}) {
    for (const ModelFamily& family : ModelFamilies()) {
      const bool may_run = family.runs_alone && family.like.runs != nullptr;
      if (family.last_resort != last_resort || !may_run) continue;
      if (family.like.runs(graph, node)) AddKernels(graph, family, {node}, &kernels);
    }
    if (!kernels.empty()) break;
  }
  if (!fuse) return kernels;
  for (const ModelFamily& family : ModelFamilies()) {
    const auto grow = family.grow != nullptr ? family.grow : family.like.grow;
    if (grow == nullptr) continue;
    for (const std::vector<NodeId>& nodes : grow(graph, node)) {
      AddKernels(graph, family, nodes, &kernels);
    }
  }
  return kernels;
}

Kernel ModelCatalog::Reorder(const TensorType& /*type*/, Format from, Format to) const {
  return {.family = "reorder", .input_formats = {from}, .output_formats = {to}};
}

// Of a family's name: a transpose, which is one of those that move, takes none, and never stands
// where an image in channels-last is read or written as one.
bool ModelCatalog::ReadsParts(const Kernel& kernel) const { return TakesParts(kernel); }

bool ModelCatalog::WritesParts(const Kernel& kernel) const { return TakesParts(kernel); }

absl::string_view ModelCatalog::Version(absl::string_view /*family*/) const { return "1"; }

std::unique_ptr<KernelCatalog> NewModelCatalog(const DeviceDescription& /*device*/,
                                               const CatalogOptions& /*options*/) {
  return std::make_unique<ModelCatalog>();
}

}  // namespace plait
