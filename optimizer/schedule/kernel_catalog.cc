#include "optimizer/kernels/kernel_catalog.h"

#include "absl/strings/str_cat.h"
#include "optimizer/schedule/cpu_catalog.h"
#include "optimizer/schedule/reference_catalog.h"

namespace plait {

absl::StatusOr<std::unique_ptr<KernelCatalog>> CatalogFor(const DeviceDescription& device) {
  if (device.backend == "cpu") return std::make_unique<CpuCatalog>(device);
  if (device.backend == "reference") return std::make_unique<ReferenceCatalog>();
  return absl::NotFoundError(absl::StrCat("no kernel catalog for backend \"", device.backend,
                                          "\" (there are: cpu, reference)"));
}

}  // namespace plait
