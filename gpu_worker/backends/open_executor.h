#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/executor/executor.h"

namespace plait {

// The executor of a device id ("cpu", "reference", "cuda:0"). The text before the colon names a
// line of backends.def; the rest is the backend's to read. The executor is the caller's, and not
// thread-safe.
// Errors: NotFound naming the backends that were built in; Unavailable when the device is missing;
// InvalidArgument for a number of threads or a name of instructions that makes no sense;
// FailedPrecondition for instructions that the processor lacks.
absl::StatusOr<std::unique_ptr<Executor>> OpenExecutor(absl::string_view device_id,
                                                       const ExecutorOptions& options = {});

// The ids of the backend's devices that there are now; a backend that is for no job has none.
// Errors: NotFound for a name that is no backend's; Unavailable saying what is missing.
absl::StatusOr<std::vector<std::string>> DeviceIdsOf(absl::string_view backend);

}  // namespace plait
