#include <memory>

#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"

namespace plait {

// What a described GPU is said to run is what the cuda backend offers, whatever the instruction set
// of the description: forms, of which no one has chosen an implementation. Products in TF32 are
// left out, since their errors are measured on a device, and there is none.
std::unique_ptr<KernelCatalog> NewModelCatalog(const DeviceDescription& /*device*/,
                                               const CatalogOptions& /*options*/) {
  return std::make_unique<cuda::CudaCatalog>(cuda::CudaCatalog::Options());
}

}  // namespace plait
