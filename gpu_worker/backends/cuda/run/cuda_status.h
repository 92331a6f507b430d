#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// What went wrong below the executor, as the rest of plait has it; the words stay. Memory that the
// device has not is ResourceExhausted, any other failure of the device Internal.
absl::Status ToStatus(const Error& error);

inline absl::Status ToStatus(const Status& status) {
  return status.ok() ? absl::OkStatus() : ToStatus(status.error());
}

template <typename Value>
absl::StatusOr<Value> ToStatusOr(Result<Value> result) {
  if (!result.ok()) return ToStatus(result.error());
  return std::move(result).value();
}

}  // namespace plait::cuda
