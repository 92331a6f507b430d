#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/exit_code.h"

namespace plait {

// Where a command writes: results to `out`, progress and errors to `err`. Not thread-safe.
struct Console {
  // Borrowed, both. Scripts read `out`, so nothing but results goes there.
  std::ostream& out;
  std::ostream& err;
  // A bar is drawn on a terminal only.
  bool err_is_terminal = false;
  bool json = false;  // results are JSON, and an error is an object on `out` as well
};

// Prints "plait: <what> : <why>" as the last line of `err`; with `json` also {"error": {...}} on
// `out`. The fix, where there is one, is part of the status's message. Returns `code`.
// REQUIRES: `status` is not OK.
// Line feeds in the message become spaces: a reader of logs finds one error on one line.
ExitCode ReportError(Console& console, absl::string_view what, const absl::Status& status,
                     ExitCode code);

// Prints "warning: <warning>" for each, on lines of their own, to `err`.
void PrintWarnings(Console& console, const std::vector<std::string>& warnings);

}  // namespace plait
