#include "server/search_child/job_catalog.h"

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/catalogs.h"

namespace plait {
namespace {

bool IsBf16(const v1::OptimizeOptions& options) { return options.precision() == "bf16"; }

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCatalog>> JobCatalog(const v1::OptimizeOptions& options,
                                                          const DeviceDescription& device) {
  return CatalogFor(device, {.digits = !IsBf16(options)});
}

std::vector<std::string> PrecisionWarnings(const v1::OptimizeOptions& options,
                                           const DeviceDescription& device,
                                           const KernelCatalog& catalog) {
  if (!IsBf16(options) || catalog.HasBf16()) return {};
  const std::string has =
      device.instruction_set.empty() ? "" : absl::StrCat(" (it has ", device.instruction_set, ")");
  return {absl::StrCat("device ", device.id, " has no kernels in bf16, which take AMX", has,
                       ": all layers compute in fp32")};
}

}  // namespace plait
