#include "storage/stores.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/wire/error.h"

namespace plait {
#define PLAIT_STORES(name, function) \
  absl::StatusOr<Stores> function(const StoresOptions& options, Clock& clock);
#include "storage/stores.def"
#undef PLAIT_STORES

namespace {

// The declarations above and the table below come from one list, so that a backend cannot be in
// only one of them.
struct Backend {
  absl::string_view name;
  absl::StatusOr<Stores> (*open)(const StoresOptions&, Clock&);
};

constexpr Backend kBackends[] = {
#define PLAIT_STORES(name, function) {#name, function},
#include "storage/stores.def"
#undef PLAIT_STORES
};

}  // namespace

absl::StatusOr<Stores> OpenStores(absl::string_view backend, const StoresOptions& options,
                                  Clock& clock) {
  // By name, as a configuration has it; there are a handful.
  for (const Backend& entry : kBackends) {
    if (entry.name == backend) return entry.open(options, clock);
  }
  return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                     absl::StrCat("storage backend: must be one of ",
                                  absl::StrJoin(StoreBackends(), ", "), ", is \"", backend, "\""));
}

std::vector<std::string> StoreBackends() {
  std::vector<std::string> names;
  for (const Backend& entry : kBackends) names.emplace_back(entry.name);
  return names;
}

}  // namespace plait
