#include "gpu_worker/backends/open_executor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace plait {

#define PLAIT_BACKEND(name, Name)                                                                 \
  absl::StatusOr<std::unique_ptr<Executor>> Open##Name##Executor(absl::string_view device_id,     \
                                                                 const ExecutorOptions& options); \
  absl::StatusOr<std::vector<std::string>> Name##DeviceIds();
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND

namespace {

struct Backend {
  absl::string_view name;
  absl::StatusOr<std::unique_ptr<Executor>> (*open)(absl::string_view device_id,
                                                    const ExecutorOptions& options);
  absl::StatusOr<std::vector<std::string>> (*device_ids)();
};

constexpr Backend kBackends[] = {
#define PLAIT_BACKEND(name, Name) {#name, Open##Name##Executor, Name##DeviceIds},
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
};

// The text before the colon names the backend.
absl::StatusOr<const Backend*> BackendNamed(absl::string_view device_id) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(device_id, absl::MaxSplits(':', 1));
  std::string names;
  for (const Backend& backend : kBackends) {
    if (backend.name == parts.first) return &backend;
    absl::StrAppend(&names, names.empty() ? "" : ", ", backend.name);
  }
  return absl::NotFoundError(absl::StrCat(
      "device \"", device_id, "\": no such backend in this build (there are: ", names, ")"));
}

}  // namespace

// The whole id goes to the backend, whose messages then name what the caller wrote.
absl::StatusOr<std::unique_ptr<Executor>> OpenExecutor(absl::string_view device_id,
                                                       const ExecutorOptions& options) {
  PLAIT_ASSIGN_OR_RETURN(const Backend* const backend, BackendNamed(device_id));
  return backend->open(device_id, options);
}

absl::StatusOr<std::vector<std::string>> DeviceIdsOf(absl::string_view backend) {
  PLAIT_ASSIGN_OR_RETURN(const Backend* const named, BackendNamed(backend));
  return named->device_ids();
}

}  // namespace plait
