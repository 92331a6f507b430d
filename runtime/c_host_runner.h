#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "loading/host_runner.h"
#include "plait/runtime.h"

namespace plait {

// The program's host runner, called through the functions of `given`, which is copied. What they
// say of tensors is read, and believed as far as addresses go: they are the program's own code.
// Errors: InvalidArgument for a struct that is too small or lacks a function.
absl::StatusOr<std::shared_ptr<HostRunner>> HostRunnerOf(const plait_host_runner& given);

}  // namespace plait
