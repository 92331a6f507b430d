#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/process.h"

namespace plait {

// A program that is over, and the first 64 KiB of what it printed.
struct FinishedProgram {
  ProcessEnd end;
  std::string out;
  std::string err;

  bool Succeeded() const { return end.signal == 0 && end.exit_code == 0; }
};

// Runs a program to its end, which is forced after `time_max`. Standard output and standard error
// are taken, whatever `options.descriptors` say of them.
// Errors: Unavailable when it cannot be started, DeadlineExceeded when it does not end.
absl::StatusOr<FinishedProgram> RunProgram(ProcessOptions options, absl::Duration time_max);

// The last line that is not blank: of a program that fails, why.
std::string LastLine(absl::string_view text);

}  // namespace plait
