#include "gpu_worker/backends/open_executor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plait {

#define PLAIT_BACKEND(name, Name)                                                             \
  absl::StatusOr<std::unique_ptr<Executor>> Open##Name##Executor(absl::string_view device_id, \
                                                                 const ExecutorOptions& options);
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND

namespace {

struct Backend {
  absl::string_view name;
  absl::StatusOr<std::unique_ptr<Executor>> (*open)(absl::string_view device_id,
                                                    const ExecutorOptions& options);
};

constexpr Backend kBackends[] = {
#define PLAIT_BACKEND(name, Name) {#name, Open##Name##Executor},
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
};

}  // namespace

// The whole id goes to the backend, whose messages then name what the caller wrote.
absl::StatusOr<std::unique_ptr<Executor>> OpenExecutor(absl::string_view device_id,
                                                       const ExecutorOptions& options) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(device_id, absl::MaxSplits(':', 1));
  std::string names;
  for (const Backend& backend : kBackends) {
    if (backend.name == parts.first) return backend.open(device_id, options);
    absl::StrAppend(&names, names.empty() ? "" : ", ", backend.name);
  }
  return absl::NotFoundError(absl::StrCat(
      "device \"", device_id, "\": no such backend in this build (there are: ", names, ")"));
}

}  // namespace plait
