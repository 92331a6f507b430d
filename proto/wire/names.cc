#include "proto/wire/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/limits.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

// 64 bytes: a UUID takes 36, and ids appear in file names, logs and URLs.
constexpr size_t kIdBytesMax = 64;

// What an error message shows of a stranger's text.
// Escaped and cut: the text goes to logs and terminals.
std::string Shown(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 80)), "\"");
}

absl::Status InvalidName(absl::string_view field, absl::string_view allowed,
                         absl::string_view value) {
  return FieldError(field, absl::StrCat("must be ", allowed, ", is ", Shown(value)));
}

bool IsIdCharacter(char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; }

bool IsJobIdCharacter(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
}

constexpr absl::string_view kBackends[] = {
#define PLAIT_BACKEND(name, Name) #name,
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
};

}  // namespace

// Printable only: names stand in log lines and on terminals.
absl::Status CheckName(absl::string_view field, absl::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax ||
      !std::all_of(name.begin(), name.end(), absl::ascii_isgraph)) {
    return InvalidName(field, "1 to 256 printable ASCII characters without spaces", name);
  }
  return absl::OkStatus();
}

absl::Status CheckJobId(absl::string_view id) {
  if (id.empty() || id.size() > kIdBytesMax ||
      !std::all_of(id.begin(), id.end(), IsJobIdCharacter)) {
    return InvalidName("job_id", "1 to 64 lowercase letters, digits or '-'", id);
  }
  return absl::OkStatus();
}

// Empty is allowed: it means that each call is a new job.
absl::Status CheckRequestId(absl::string_view id) {
  if (id.size() > kIdBytesMax || !std::all_of(id.begin(), id.end(), IsIdCharacter)) {
    return InvalidName("request_id", "at most 64 letters, digits, '-' or '_'", id);
  }
  return absl::OkStatus();
}

absl::Status CheckDeviceId(absl::string_view field, absl::string_view id) {
  if (id == "cpu") return absl::OkStatus();
  // 255: more GPUs than any machine has.
  constexpr int kOrdinalMax = 255;
  absl::string_view rest = id;
  int ordinal = 0;
  if (absl::ConsumePrefix(&rest, "cuda:") && !rest.empty() &&
      std::all_of(rest.begin(), rest.end(), absl::ascii_isdigit) &&
      absl::SimpleAtoi(rest, &ordinal) && ordinal <= kOrdinalMax) {
    return absl::OkStatus();
  }
  return InvalidName(field, "cpu or cuda:<number>", id);
}

bool IsDescribedId(absl::string_view id) { return absl::StartsWith(id, "model:"); }

absl::Status CheckJobDeviceId(absl::string_view field, absl::string_view id) {
  if (!IsDescribedId(id)) return CheckDeviceId(field, id);
  // As a runtime's name.
  if (CheckRuntime(field, id.substr(id.find(':') + 1)).ok()) return absl::OkStatus();
  return InvalidName(field, "cpu, cuda:<number> or model:<name>", id);
}

absl::Status CheckRuntime(absl::string_view field, absl::string_view name) {
  const bool is_name = !name.empty() && name.size() <= kIdBytesMax &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return absl::ascii_islower(c) || absl::ascii_isdigit(c);
                       });
  if (is_name) return absl::OkStatus();
  return InvalidName(field, "1 to 64 lowercase letters or digits", name);
}

absl::Status CheckBackend(absl::string_view field, absl::string_view backend) {
  if (std::find(std::begin(kBackends), std::end(kBackends), backend) != std::end(kBackends)) {
    return absl::OkStatus();
  }
  return InvalidName(
      field, absl::StrCat("one of this build's backends (", absl::StrJoin(kBackends, ", "), ")"),
      backend);
}

absl::string_view BackendOf(absl::string_view device_id) {
  return device_id.substr(0, device_id.find(':'));
}

}  // namespace plait::wire
