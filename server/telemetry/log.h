#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The log: one JSON object a line on standard error, with "time", "level", "event" and the fields.
// The vocabulary of events is `<noun>.<past participle>`: server.listening, job.submitted,
// worker.restarted. Thread-safe.
namespace plait {

using LogField = std::pair<absl::string_view, absl::string_view>;

// Levels: "debug", "info", "warning", "error", "off".
// Errors: InvalidArgument naming the levels.
absl::Status SetLogLevel(absl::string_view level);

void LogInfo(absl::string_view event, std::initializer_list<LogField> fields);
void LogWarning(absl::string_view event, std::initializer_list<LogField> fields);
void LogError(absl::string_view event, std::initializer_list<LogField> fields);

}  // namespace plait
