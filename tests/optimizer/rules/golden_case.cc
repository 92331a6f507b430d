#include "tests/optimizer/rules/golden_case.h"

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/files/source_path.h"

namespace plait {
namespace {

std::string PathOf(absl::string_view folder, absl::string_view rule) {
  return SourcePath(absl::StrCat(folder, "/golden/", rule, ".txt"));
}

}  // namespace

absl::StatusOr<std::vector<GoldenCase>> ReadGoldenFile(absl::string_view rule,
                                                       absl::string_view folder) {
  const std::string path = PathOf(folder, rule);
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no golden file ", path));
  std::vector<GoldenCase> cases;
  std::string* section = nullptr;
  int line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    absl::string_view text = line;
    if (absl::ConsumePrefix(&text, "case: ")) {
      cases.push_back({std::string(text)});
      section = nullptr;
    } else if (cases.empty()) {
      if (!text.empty() && text[0] != '#') {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", line_number, ": expected `case: <name>`"));
      }
    } else if (text == "before:") {
      section = &cases.back().before;
    } else if (text == "after:" || text == "or:") {
      section = &cases.back().after.emplace_back();
    } else if (text == "no match") {
      section = nullptr;
    } else if (absl::ConsumePrefix(&text, "because: ")) {
      cases.back().reasons.emplace_back(text);
    } else if (section != nullptr) {
      absl::StrAppend(section, text, "\n");
    }
  }
  return cases;
}

void WriteGoldenFile(absl::string_view rule, const std::vector<GoldenCase>& cases,
                     absl::string_view folder) {
  std::ofstream file(PathOf(folder, rule));
  for (const GoldenCase& golden : cases) {
    const auto trimmed = [](absl::string_view text) {
      while (absl::ConsumeSuffix(&text, "\n")) {
      }
      return text;
    };
    file << "case: " << golden.name << "\nbefore:\n" << trimmed(golden.before) << "\n";
    for (size_t i = 0; i < golden.after.size(); ++i) {
      file << (i == 0 ? "after:\n" : "or:\n") << trimmed(golden.after[i]) << "\n";
    }
    if (golden.after.empty()) file << "no match\n";
    for (const std::string& reason : golden.reasons) file << "because: " << reason << "\n";
    file << "\n";
  }
}

}  // namespace plait
