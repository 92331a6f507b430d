#pragma once

#include "absl/status/status.h"

namespace plait {

// A child that fork() makes has the memory of its parent and none of its threads: a lock may be
// held for ever there, and a team waits for members that do not exist. Asked before any lock.
//
// The first call makes the calling process the one in which sessions may be used. Thread-safe.
// Errors: Aborted in a child of that process.
absl::Status ClaimProcess();

// Whether the calling process is a child of the one that ClaimProcess was called in.
bool IsForked();

}  // namespace plait
