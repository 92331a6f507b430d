#include "gpu_worker/process/parse_profile_key.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait {
namespace {

bool ReadField(absl::string_view text, std::string* value) {
  return absl::CUnescape(text, value, nullptr);
}
bool ReadField(absl::string_view text, int* value) { return absl::SimpleAtoi(text, value); }
bool ReadField(absl::string_view text, bool* value) {
  *value = text == "1";
  return text == "0" || text == "1";
}

}  // namespace

absl::StatusOr<ProfileKey> ParseProfileKey(absl::string_view text) {
  const std::vector<absl::string_view> fields = absl::StrSplit(text, '\t');
  ProfileKey key;
  size_t next = 0;
  absl::Status status;
  ProfileKey::VisitFields(key, [&](absl::string_view name, auto& value) {
    absl::string_view field = next < fields.size() ? fields[next] : absl::string_view();
    ++next;
    const bool is_read = absl::ConsumePrefix(&field, name) && absl::ConsumePrefix(&field, "=") &&
                         ReadField(field, &value);
    if (is_read || !status.ok()) return;
    status = absl::InvalidArgumentError(
        absl::StrCat("profile key: field ", name, " is missing or malformed"));
  });
  PLAIT_RETURN_IF_ERROR(status);
  if (next != fields.size()) {
    return absl::InvalidArgumentError("profile key: there are fields after the last one");
  }
  return key;
}

}  // namespace plait
