#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The measurement log of a job with several plans: the logs of their searches one behind the other,
// each but the first behind a line of its own. So the log of one plan is as it always was. Pure and
// thread-safe.
namespace plait {

std::string JoinLogs(absl::Span<const std::string> logs);

// The inverse, for a text from anyone: views into it, at least one.
std::vector<absl::string_view> SplitLogs(absl::string_view text);

}  // namespace plait
