#include "server/search_child/job_catalog.h"

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/catalogs.h"

namespace plait {
namespace {

// Precisions that name the numbers to compute in, beside fp32.
bool NamesNumbers(absl::string_view precision) {
  return precision == "tf32" || precision == "fp16" || precision == "bf16";
}

// What a processor would need for them; nothing is known of what other devices need.
absl::string_view NeedOf(absl::string_view precision, const DeviceDescription& device) {
  if (device.backend != "cpu") return "";
  return precision == "bf16" ? ", which take AMX" : ", which take a GPU";
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCatalog>> JobCatalog(const v1::OptimizeOptions& options,
                                                          const DeviceDescription& device) {
  const bool has_all = !NamesNumbers(options.precision());
  return CatalogFor(device, {.digits = has_all,
                             .bf16 = has_all || options.precision() == "bf16",
                             .tf32 = has_all || options.precision() == "tf32",
                             .fp16_values = options.precision() == "fp16",
                             .bf16_values = options.precision() == "bf16"});
}

std::vector<std::string> PrecisionWarnings(const v1::OptimizeOptions& options,
                                           const DeviceDescription& device,
                                           const KernelCatalog& catalog) {
  const absl::string_view precision = options.precision();
  if (!NamesNumbers(precision) || catalog.HasPrecision(precision)) return {};
  const std::string has =
      device.instruction_set.empty() ? "" : absl::StrCat(" (it has ", device.instruction_set, ")");
  return {absl::StrCat("device ", device.id, " has no kernels in ", precision,
                       NeedOf(precision, device), has, ": all layers compute in fp32")};
}

}  // namespace plait
