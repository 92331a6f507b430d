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

// The name and the value.
using LogField = std::pair<absl::string_view, absl::string_view>;

// Levels: "debug", "info", "warning", "error", "off".
// Errors: InvalidArgument naming the levels.
// The level is "info" until it is set. May be called at any time.
absl::Status SetLogLevel(absl::string_view level);

// Writes one line, if the level is that of the log or above. The log may be read by others than the
// operator: fields name jobs, tenants and devices, never bytes of a model. `event` and the names of
// fields are constants; values may be any text and are quoted.
// Never fails: a line that cannot be written is lost, and nothing that must survive is only logged.
// Bytes that are no UTF-8 are replaced.
void LogInfo(absl::string_view event, std::initializer_list<LogField> fields);
void LogWarning(absl::string_view event, std::initializer_list<LogField> fields);
void LogError(absl::string_view event, std::initializer_list<LogField> fields);

}  // namespace plait
