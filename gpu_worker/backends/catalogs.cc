#include "gpu_worker/backends/catalogs.h"

#include "absl/strings/str_cat.h"

namespace plait {

// Each backend defines its own in <name>/offers and is found by its line in backends.def alone:
// nothing here knows a backend by name.
#define PLAIT_BACKEND(name, Name)                                                    \
  std::unique_ptr<KernelCatalog> New##Name##Catalog(const DeviceDescription& device, \
                                                    const CatalogOptions& options);
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
// Of devices that are described (optimizer/cost/described_device.h): nothing runs it, so that it is
// no line of the backends.
std::unique_ptr<KernelCatalog> NewModelCatalog(const DeviceDescription& device,
                                               const CatalogOptions& options);

namespace {

struct Backend {
  absl::string_view name;
  std::unique_ptr<KernelCatalog> (*new_catalog)(const DeviceDescription& device,
                                                const CatalogOptions& options);
};

constexpr Backend kBackends[] = {
#define PLAIT_BACKEND(name, Name) {#name, New##Name##Catalog},
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
    {kDescribedBackend, NewModelCatalog},
};

}  // namespace

// A handful of backends: a list is all the look-up that is needed.
absl::StatusOr<std::unique_ptr<KernelCatalog>> CatalogFor(const DeviceDescription& device,
                                                          const CatalogOptions& options) {
  std::string names;
  for (const Backend& backend : kBackends) {
    if (backend.name == device.backend) return backend.new_catalog(device, options);
    absl::StrAppend(&names, names.empty() ? "" : ", ", backend.name);
  }
  return absl::NotFoundError(absl::StrCat("no kernel catalog for backend \"", device.backend,
                                          "\" (there are: ", names, ")"));
}

}  // namespace plait
