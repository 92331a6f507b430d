#include "optimizer/kernels/profile_key.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait {
namespace {

std::string FieldText(const std::string& value) { return absl::CEscape(value); }
std::string FieldText(int value) { return absl::StrCat(value); }
std::string FieldText(bool value) { return value ? "1" : "0"; }

bool ReadField(absl::string_view text, std::string& value) {
  return absl::CUnescape(text, &value, nullptr);
}
bool ReadField(absl::string_view text, int& value) { return absl::SimpleAtoi(text, &value); }
bool ReadField(absl::string_view text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}

}  // namespace

std::string ProfileKey::ToString() const {
  std::string text;
  VisitFields(*this, [&text](absl::string_view name, const auto& value) {
    absl::StrAppend(&text, text.empty() ? "" : "\t", name, "=", FieldText(value));
  });
  return text;
}

// Fields come in their one order, so that a key has one text and texts may be compared as they are.
absl::StatusOr<ProfileKey> ProfileKey::Parse(absl::string_view text) {
  // Escaping leaves no tab in a value, so every tab is a border.
  const std::vector<absl::string_view> fields = absl::StrSplit(text, '\t');
  ProfileKey key;
  size_t next = 0;
  absl::Status status;
  VisitFields(key, [&](absl::string_view name, auto& value) {
    absl::string_view field = next < fields.size() ? fields[next] : absl::string_view();
    ++next;
    const bool is_read = absl::ConsumePrefix(&field, name) && absl::ConsumePrefix(&field, "=") &&
                         ReadField(field, value);
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
