#include "optimizer/ir/text_scanner.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait {
namespace {

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == ':' || c == '/' || c == '-';
}

// Words hold numbers too, such as 1e+30.
bool IsWordCharacter(char c) { return IsNameCharacter(c) || c == '+'; }

absl::string_view Prefix(absl::string_view text, bool (*accepts)(char)) {
  const auto end = std::find_if_not(text.begin(), text.end(), accepts);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

}  // namespace

bool TextScanner::AtEnd() {
  rest_ = absl::StripLeadingAsciiWhitespace(rest_);
  return rest_.empty();
}

bool TextScanner::Sees(absl::string_view token) {
  AtEnd();
  return absl::StartsWith(rest_, token);
}

bool TextScanner::Consume(absl::string_view token) {
  if (!Sees(token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

absl::Status TextScanner::Expected(absl::string_view what) {
  // 40: enough to find the place, short enough for one line.
  constexpr size_t kShownMax = 40;
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", what, ", found ",
      AtEnd() ? "the end of the line"
              : absl::StrCat("\"", absl::CHexEscape(rest_.substr(0, kShownMax)), "\"")));
}

absl::Status TextScanner::Expect(absl::string_view token) {
  return Consume(token) ? absl::OkStatus() : Expected(absl::StrCat("'", token, "'"));
}

absl::Status TextScanner::ExpectEnd() {
  return AtEnd() ? absl::OkStatus() : Expected("the end of the line");
}

absl::StatusOr<int64_t> TextScanner::Integer(int64_t low, int64_t high) {
  AtEnd();
  const absl::string_view digits =
      Prefix(rest_, [](char c) { return absl::ascii_isdigit(c) || c == '-'; });
  int64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value) || value < low || value > high) {
    return Expected(absl::StrCat("an integer from ", low, " to ", high));
  }
  rest_.remove_prefix(digits.size());
  return value;
}

absl::StatusOr<absl::string_view> TextScanner::Word() {
  AtEnd();
  const absl::string_view word = Prefix(rest_, IsWordCharacter);
  if (word.empty()) return Expected("a word");
  rest_.remove_prefix(word.size());
  return word;
}

absl::StatusOr<std::string> TextScanner::Quoted() {
  if (!Sees("\"")) return Expected("a quoted string");
  // An escaped character is skipped, so that \" does not end the string.
  size_t end = 1;
  while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
  if (end >= rest_.size()) return Expected("a quoted string that ends on this line");
  std::string text;
  if (!absl::CUnescape(rest_.substr(1, end - 1), &text)) {
    return Expected("a quoted string with valid escapes");
  }
  rest_.remove_prefix(end + 1);
  return text;
}

absl::StatusOr<std::string> TextScanner::Name() {
  if (Sees("\"")) {
    const absl::string_view before = rest_;
    PLAIT_ASSIGN_OR_RETURN(std::string name, Quoted());
    if (!name.empty()) return name;
    rest_ = before;
    return Expected("a name that is not empty");
  }
  absl::string_view name = Prefix(rest_, IsNameCharacter);
  // In "%x: float32[1]" the colon belongs to the type.
  while (absl::ConsumeSuffix(&name, ":")) {
  }
  if (name.empty()) return Expected("a name");
  rest_.remove_prefix(name.size());
  return std::string(name);
}

std::string Quote(absl::string_view text) {
  // Octal escapes: they have three digits whatever comes next.
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

void AppendName(absl::string_view name, std::string* text) {
  const bool bare =
      !name.empty() && name.back() != ':' && std::all_of(name.begin(), name.end(), IsNameCharacter);
  if (bare) {
    absl::StrAppend(text, name);
  } else {
    absl::StrAppend(text, Quote(name));
  }
}

}  // namespace plait
