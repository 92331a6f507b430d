#include "base/arguments.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace plait {
namespace {

// By its long or its short name; nullptr: there is none.
// Linear: a program has some twenty options and reads them once.
const OptionSpec* FindOption(absl::string_view name, absl::Span<const OptionSpec> options) {
  for (const OptionSpec& option : options) {
    if (option.name == name) return &option;
    if (!option.short_name.empty() && option.short_name == name) return &option;
  }
  return nullptr;
}

absl::Status UnknownOption(absl::string_view name, absl::Span<const OptionSpec> options) {
  std::vector<absl::string_view> names = {"--help"};
  for (const OptionSpec& option : options) names.push_back(option.name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown option ", name, " (", Suggestion(name, names), ")"));
}

absl::Status Unexpected(const OptionSpec& option, absl::string_view expected,
                        absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(option.name, ": expected ", expected, ", is \"", value, "\""));
}

absl::Status CheckKind(const OptionSpec& option, absl::string_view value) {
  const auto wrong = [&](absl::string_view expected) {
    return Unexpected(option, expected, value);
  };
  switch (option.kind) {
    case OptionKind::kSwitch:
    case OptionKind::kAnyText:
      return absl::OkStatus();
    case OptionKind::kText:
      return value.empty() ? wrong("a value") : absl::OkStatus();
    case OptionKind::kInteger: {
      int64_t number = 0;
      return absl::SimpleAtoi(value, &number) && number >= 0 ? absl::OkStatus()
                                                             : wrong("an integer, 0 or more");
    }
    case OptionKind::kNumber: {
      double number = 0;
      return absl::SimpleAtod(value, &number) && std::isfinite(number) && number >= 0
                 ? absl::OkStatus()
                 : wrong("a number, 0 or more");
    }
    case OptionKind::kSeconds:
      return ParseSeconds(value).ok() ? absl::OkStatus() : wrong("a time such as 60s, 2m or 1h");
  }
  return absl::OkStatus();
}

absl::Status CheckValue(const OptionSpec& option, absl::string_view value) {
  PLAIT_RETURN_IF_ERROR(CheckKind(option, value));
  const absl::string_view expected = option.expected == nullptr ? "" : option.expected(value);
  return expected.empty() ? absl::OkStatus() : Unexpected(option, expected, value);
}

absl::Status CheckPositionals(const std::vector<std::string>& given, absl::string_view expected) {
  const std::vector<absl::string_view> names = absl::StrSplit(expected, ' ', absl::SkipEmpty());
  if (given.size() > names.size()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", given[names.size()],
                                                   "\" (expected ",
                                                   names.empty() ? "none" : expected, ")"));
  }
  // An optional one, in brackets, has only optional ones behind it.
  if (given.size() < names.size() && !absl::StartsWith(names[given.size()], "[")) {
    return absl::InvalidArgumentError(
        absl::StrCat(names[given.size()], " is missing (see --help)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ParseSeconds(absl::string_view text) {
  double scale = 1;
  absl::string_view digits = text;
  if (absl::EndsWith(text, "s")) digits.remove_suffix(1);
  if (absl::EndsWith(text, "m")) scale = 60, digits.remove_suffix(1);
  if (absl::EndsWith(text, "h")) scale = 3600, digits.remove_suffix(1);
  double number = 0;
  if (!absl::SimpleAtod(digits, &number) || !std::isfinite(number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no time"));
  }
  return number * scale;
}

absl::StatusOr<Arguments> ParseArguments(absl::Span<const std::string> words,
                                         absl::Span<const OptionSpec> options,
                                         absl::string_view positionals) {
  Arguments arguments;
  bool only_positionals = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // "-" alone is a positional: by custom, standard input.
    if (only_positionals || word.size() < 2 || word[0] != '-') {
      arguments.positionals_.push_back(word);
      continue;
    }
    if (word == "--") {
      only_positionals = true;
      continue;
    }
    // The first one: a value may hold others, as in --shape=input=1x3.
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionSpec* const option = FindOption(name, options);
    if (option == nullptr) return UnknownOption(name, options);
    std::string value;
    if (option->kind == OptionKind::kSwitch) {
      if (equals != std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat(option->name, " takes no value"));
      }
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (++i < words.size()) {
      value = words[i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(option->name, ": the value ", option->value, " is missing"));
    }
    // Checked here, so that accessors cannot fail.
    PLAIT_RETURN_IF_ERROR(CheckValue(*option, value));
    arguments.values_[std::string(option->name)].push_back(value);
  }
  PLAIT_RETURN_IF_ERROR(CheckPositionals(arguments.positionals_, positionals));
  return arguments;
}

bool Arguments::Has(absl::string_view option) const {
  return values_.contains(std::string(option));
}

std::string Arguments::Text(absl::string_view option, absl::string_view fallback) const {
  const auto found = values_.find(std::string(option));
  return found == values_.end() ? std::string(fallback) : found->second.back();
}

int64_t Arguments::Integer(absl::string_view option, int64_t fallback) const {
  int64_t number = fallback;
  // Checked by ParseArguments, so a failure here is the wrong kind of accessor.
  if (Has(option)) PLAIT_CHECK(absl::SimpleAtoi(Text(option), &number));
  return number;
}

double Arguments::Number(absl::string_view option, double fallback) const {
  double number = fallback;
  if (Has(option)) PLAIT_CHECK(absl::SimpleAtod(Text(option), &number));
  return number;
}

double Arguments::Seconds(absl::string_view option, double fallback) const {
  return Has(option) ? ParseSeconds(Text(option)).value() : fallback;
}

std::vector<std::string> Arguments::Texts(absl::string_view option) const {
  const auto found = values_.find(std::string(option));
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

bool AsksForHelp(absl::Span<const std::string> words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find_if(words.begin(), end, [](const std::string& word) {
           return word == "--help" || word == "-h";
         }) != end;
}

std::string HelpTextOf(absl::Span<const OptionSpec> options, int width) {
  std::string text;
  const std::string next_line =
      absl::StrCat("\n", std::string(static_cast<size_t>(width) + 3, ' '));
  for (const OptionSpec& option : options) {
    const std::string left =
        absl::StrCat(option.short_name, option.short_name.empty() ? "" : ", ", option.name,
                     option.value.empty() ? "" : " ", option.value);
    absl::StrAppendFormat(&text, "  %-*s %s\n", width, left,
                          absl::StrReplaceAll(option.help, {{"\n", next_line}}));
  }
  return text;
}

}  // namespace plait
