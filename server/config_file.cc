#include "server/config_file.h"

#include <fstream>
#include <optional>
#include <sstream>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace plait {
namespace {

// As the same value would be written in a flag or a variable, so that all three are read by one
// piece of code. Nothing for what no setting is: a table, a date, a fraction, a list of lists.
std::optional<std::string> ValueText(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto number = node.value_exact<int64_t>()) return absl::StrCat(*number);
  const toml::array* const array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::string list;
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string>();
    if (!text) return std::nullopt;
    absl::StrAppend(&list, list.empty() ? "" : ",", *text);
  }
  // As for a flag: an empty list is not an empty text.
  return list.empty() ? "none" : list;
}

}  // namespace

absl::StatusOr<SettingValues> ReadConfigFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("config: ", path, " cannot be read"));
  }
  std::ostringstream text;
  text << file.rdbuf();
  // The library is built without exceptions here; a fault is in the result, with its line.
  const toml::parse_result parsed = toml::parse(text.str());
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const std::string_view description = error.description();
    return absl::InvalidArgumentError(
        absl::StrCat("config: ", path, ":", error.source().begin.line, ": ",
                     absl::string_view(description.data(), description.size())));
  }
  SettingValues values;
  for (const auto& [key, node] : parsed.table()) {
    const std::optional<std::string> text = ValueText(node);
    if (!text) {
      return absl::InvalidArgumentError(absl::StrCat(
          "config: ", path, ":", node.source().begin.line, ": ", std::string(key.str()),
          " must be a text, a whole number, true, false or a list of texts"));
    }
    values[std::string(key.str())] = *text;
  }
  return values;
}

SettingValues SettingsFromEnvironment(const char* const* environment) {
  SettingValues values;
  for (; *environment != nullptr; ++environment) {
    absl::string_view variable = *environment;
    if (!absl::ConsumePrefix(&variable, "PLAIT_")) continue;
    const size_t equals = variable.find('=');
    if (equals == absl::string_view::npos) continue;
    values[absl::AsciiStrToLower(variable.substr(0, equals))] =
        std::string(variable.substr(equals + 1));
  }
  return values;
}

}  // namespace plait
