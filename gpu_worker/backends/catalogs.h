#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// What the backends can run, without any of what runs it: all that the search child knows of them.

// The catalog of the device's backend, for its instruction set and width.
// Only names and numbers of the description are read: the device may be on another machine. The
// catalog is the caller's, and thread-safe.
// Errors: NotFound naming the backends there are.
absl::StatusOr<std::unique_ptr<KernelCatalog>> CatalogFor(const DeviceDescription& device,
                                                          const CatalogOptions& options = {});

}  // namespace plait
