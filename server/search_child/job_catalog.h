#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// What the device can run for a job: with precision "bf16" or "tf32", nothing that computes in
// other numbers than these and fp32.
// Errors: those of CatalogFor.
absl::StatusOr<std::unique_ptr<KernelCatalog>> JobCatalog(const v1::OptimizeOptions& options,
                                                          const DeviceDescription& device);

// Says so where bf16 or TF32 is asked for and the device, whose catalog it is, has no kernels in
// it.
std::vector<std::string> PrecisionWarnings(const v1::OptimizeOptions& options,
                                           const DeviceDescription& device,
                                           const KernelCatalog& catalog);

}  // namespace plait
