#include "optimizer/kernels/profile_key.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace plait {
namespace {

std::string FieldText(const std::string& value) { return absl::CEscape(value); }
std::string FieldText(int value) { return absl::StrCat(value); }
std::string FieldText(bool value) { return value ? "1" : "0"; }

}  // namespace

std::string ProfileKey::ToString() const {
  std::string text;
  VisitFields(*this, [&text](absl::string_view name, const auto& value) {
    absl::StrAppend(&text, text.empty() ? "" : "\t", name, "=", FieldText(value));
  });
  return text;
}

}  // namespace plait
