#include "client/console.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/json.h"
#include "proto/wire/error.h"

namespace plait {

// On both streams with --json: a script reads the one, a person sees the other.
ExitCode ReportError(Console& console, absl::string_view what, const absl::Status& status,
                     ExitCode code) {
  const v1::ErrorDetail detail = wire::ErrorDetailOf(status);
  if (console.json) {
    Json error;
    error["error"]["reason"] = wire::ReasonName(detail.reason());
    error["error"]["message"] = detail.message();
    console.out << JsonLine(error);
    console.out.flush();
  }
  // One line, whatever the message holds.
  const std::string message = absl::StrReplaceAll(detail.message(), {{"\n", " "}, {"\r", " "}});
  console.err << "plait: " << std::string(what) << " : " << message << "\n";
  console.err.flush();
  return code;
}

void PrintWarnings(Console& console, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) console.err << "warning: " << warning << "\n";
}

}  // namespace plait
