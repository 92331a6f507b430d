#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// What the device can run for a job: with precision "tf32", "fp16" or "bf16", nothing that computes
// in other numbers than these and fp32. Values lie in 16 bits only where one of these is named: no
// layer keeps fp32's accuracy so, and "auto" measures few enough kernels of a GPU without them.
// Errors: those of CatalogFor.
absl::StatusOr<std::unique_ptr<KernelCatalog>> JobCatalog(const v1::OptimizeOptions& options,
                                                          const DeviceDescription& device);

// Says so where one of these is asked for and the device, whose catalog it is, has no kernels in
// it.
std::vector<std::string> PrecisionWarnings(const v1::OptimizeOptions& options,
                                           const DeviceDescription& device,
                                           const KernelCatalog& catalog);

}  // namespace plait
