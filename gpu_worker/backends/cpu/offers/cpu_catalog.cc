#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/instruction_set_names.h"
#include "gpu_worker/backends/cpu/offers/family_versions.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

constexpr const FamilyOffer* kFamilies[] = {
#define PLAIT_CPU_FAMILY(name, Name) &k##Name##Offer,
#include "gpu_worker/backends/cpu/families.def"
#undef PLAIT_CPU_FAMILY
};

// By place among the names, each of which includes those before it. A device that says nothing
// that is known has the least.
bool HasInstructions(const DeviceDescription& device, absl::string_view wanted) {
  const auto* const end = std::end(kInstructionSetNames);
  const auto* const had = std::find(std::begin(kInstructionSetNames), end, device.instruction_set);
  const auto* const needed = std::find(std::begin(kInstructionSetNames), end, wanted);
  return needed == std::begin(kInstructionSetNames) || (had != end && had >= needed);
}

// nullptr: there is none of that name.
const FamilyOffer* FindFamily(absl::string_view name) {
  for (const FamilyOffer* family : kFamilies) {
    if (family->name == name) return family;
  }
  return nullptr;
}

}  // namespace

absl::Span<const FamilyOffer* const> CpuFamilies() { return kFamilies; }

bool CpuCatalog::IsOffered(const FamilyOffer& family) const {
  return HasInstructions(device_, family.instruction_set) &&
         (options_.digits || family.planes != Planes::kDigits) &&
         (options_.bf16 || family.planes != Planes::kBf16);
}

// Every variant in every row of formats is a kernel of one thread, one of all threads where that
// may gain, or both. Widths between the two are not offered: each would be one more measurement for
// every kernel.
void CpuCatalog::AddKernels(const Graph& graph, const FamilyOffer& family,
                            const std::vector<NodeId>& nodes, std::vector<Kernel>* kernels) const {
  for (const FormatRow& row : family.formats(graph, nodes)) {
    std::vector<std::string> variants = {""};
    if (family.variants != nullptr) variants = family.variants(graph, nodes, row);
    for (std::string& variant : variants) {
      Kernel kernel{.family = std::string(family.name),
                    .variant = std::move(variant),
                    .nodes = nodes,
                    .input_formats = row.inputs,
                    .output_formats = row.outputs};
      const bool divides = device_.threads > 1 && family.worth_dividing != nullptr &&
                           family.worth_dividing(graph, kernel);
      if (!divides || !HasManyFlopsForEach(graph, kernel, device_.threads)) {
        kernels->push_back(kernel);
      }
      if (!divides) continue;
      kernel.width = device_.threads;
      kernels->push_back(std::move(kernel));
    }
  }
}

// The last resort, reference code, is offered only where no other family runs the node.
std::vector<Kernel> CpuCatalog::KernelsAt(const Graph& graph, NodeId node, bool fuse) const {
  std::vector<Kernel> kernels;
  // One-node kernels come first, as the baseline takes no others.
  for (const bool last_resort : {false, true}) {
    for (const FamilyOffer* family : kFamilies) {
      if (family->last_resort != last_resort || family->runs == nullptr) continue;
      if (!IsOffered(*family)) continue;
      if (family->runs(graph, node)) AddKernels(graph, *family, {node}, &kernels);
    }
    if (!kernels.empty()) break;
  }
  if (!fuse) return kernels;
  for (const FamilyOffer* family : kFamilies) {
    if (family->grow == nullptr || !IsOffered(*family)) continue;
    for (const std::vector<NodeId>& nodes : family->grow(graph, node)) {
      AddKernels(graph, *family, nodes, &kernels);
    }
  }
  return kernels;
}

Kernel CpuCatalog::Reorder(const TensorType& type, Format from, Format to) const {
  Kernel kernel{.input_formats = {from}, .output_formats = {to}};
  for (const FamilyOffer* family : kFamilies) {
    if (family->converts == nullptr || !family->converts(type, from, to)) continue;
    kernel.family = std::string(family->name);
    break;
  }
  // A tensor belongs to no node here, so that the offer's own question cannot be asked.
  if (type.elements() >= kWideElementsMin) kernel.width = device_.threads;
  return kernel;
}

bool CpuCatalog::NeedsAdmission(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  return family != nullptr && family->needs_admission;
}

std::optional<std::string> CpuCatalog::MoreExact(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  if (family == nullptr || family->more_exact == nullptr) return std::nullopt;
  return family->more_exact(kernel.variant);
}

std::optional<std::string> CpuCatalog::LessExact(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  if (family == nullptr || family->less_exact == nullptr) return std::nullopt;
  return family->less_exact(kernel.variant);
}

bool CpuCatalog::HasPrecision(absl::string_view precision) const {
  if (precision != "bf16") return false;
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [this](const FamilyOffer* family) {
    return family->planes == Planes::kBf16 && IsOffered(*family);
  });
}

bool CpuCatalog::ReadsParts(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  return family != nullptr && family->reads_parts;
}

bool CpuCatalog::WritesParts(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  return family != nullptr && family->writes_parts;
}

bool CpuCatalog::IsFallback(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  return family != nullptr && family->last_resort;
}

double CpuCatalog::ExpectedShare(const Kernel& kernel) const {
  const FamilyOffer* const family = FindFamily(kernel.family);
  if (family == nullptr || family->expected_share == nullptr) {
    return KernelCatalog::ExpectedShare(kernel);
  }
  return family->expected_share(kernel);
}

absl::string_view CpuCatalog::Version(absl::string_view family) const {
  return CpuFamilyVersion(family);
}

std::unique_ptr<KernelCatalog> NewCpuCatalog(const DeviceDescription& device,
                                             const CatalogOptions& options) {
  return std::make_unique<CpuCatalog>(device, options);
}

}  // namespace plait
