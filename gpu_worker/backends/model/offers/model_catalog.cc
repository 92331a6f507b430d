#include <memory>

#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "optimizer/cost/described_device.h"

namespace plait {

// What a described GPU is said to run is what the cuda backend offers, whatever the instruction set
// of the description: forms, of which no one has chosen an implementation. Products in TF32 are
// left out, since their errors are measured on a device, and there is none.
std::unique_ptr<KernelCatalog> NewModelCatalog(const DeviceDescription& device,
                                               const CatalogOptions& /*options*/) {
  cuda::CudaCatalog::Options options;
  const absl::StatusOr<const DescribedDevice*> described = FindDescribedDevice(device.id);
  if (described.ok()) {
    const Multiprocessor& each = (*described)->multiprocessor;
    // A block reserves a KiB.
    options.device = {.multiprocessors = (*described)->multiprocessors,
                      .shared_bytes = each.shared_bytes - 1024,
                      .registers = each.registers,
                      .threads = each.threads};
  }
  return std::make_unique<cuda::CudaCatalog>(options);
}

}  // namespace plait
