#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"
#include "gpu_worker/backends/reference/offers/reference_catalog.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

absl::StatusOr<std::unique_ptr<KernelCatalog>> CatalogFor(const DeviceDescription& device) {
  if (device.backend == "cpu") return std::make_unique<CpuCatalog>(device);
  if (device.backend == "reference") return std::make_unique<ReferenceCatalog>();
  return absl::NotFoundError(absl::StrCat("no kernel catalog for backend \"", device.backend,
                                          "\" (there are: cpu, reference)"));
}

}  // namespace plait
