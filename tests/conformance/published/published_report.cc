#include "tests/conformance/published/published_report.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tests/files/source_path.h"

namespace plait {

namespace {

struct Tolerance {
  double relative;
  double absolute;
};

Tolerance ToleranceOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32:
    case DataType::kFloat64:
      return {1e-3, 1e-7};
    case DataType::kFloat16:
      return {5e-3, 1e-3};  // 11 bits of precision
    case DataType::kBfloat16:
      return {4e-2, 1e-2};  // 8 bits of precision
    default:
      return {0, 0};
  }
}

bool IsClose(double expected, double got, Tolerance tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) == std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  return std::abs(expected - got) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

// From lines "name reason..."; '#' begins a comment.
std::map<std::string, std::string> ReadKnownFailures(const std::string& path) {
  std::map<std::string, std::string> known;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    const size_t space = text.find(' ');
    const absl::string_view reason = space == absl::string_view::npos ? "" : text.substr(space + 1);
    known[std::string(text.substr(0, space))] = std::string(absl::StripAsciiWhitespace(reason));
  }
  return known;
}

void WriteAllCases(const PublishedReport& report) {
  const char* const folder = std::getenv("PLAIT_PUBLISHED_RESULTS");
  if (folder == nullptr) return;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = absl::StrCat(test.test_suite_name(), ".", test.name(), ".txt");
  std::ofstream file(absl::StrCat(folder, "/", absl::StrReplaceAll(name, {{"/", "_"}})));
  file << report.AllCases();
  file.close();
  EXPECT_TRUE(file) << "nothing can be written to " << folder;
}

}  // namespace

std::string DifferenceOf(const std::vector<Tensor>& expected, const std::vector<Tensor>& got) {
  if (expected.size() != got.size()) {
    return absl::StrCat(got.size(), " outputs, expected are ", expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].type() != got[i].type()) {
      return absl::StrCat("output ", i, " is ", got[i].type().ToString(), ", expected is ",
                          expected[i].type().ToString());
    }
    const Tolerance tolerance = ToleranceOf(expected[i].type().dtype);
    const std::vector<double> want = expected[i].AsDoubles();
    const std::vector<double> have = got[i].AsDoubles();
    for (size_t at = 0; at < want.size(); ++at) {
      if (IsClose(want[at], have[at], tolerance)) continue;
      return absl::StrCat("output ", i, " element ", at, " is ", have[at], ", expected is ",
                          want[at]);
    }
  }
  return "";
}

PublishedReport RunPublishedCases(const std::vector<PublishedCase>& cases, const CaseRunner& run,
                                  const CaseLoader& load) {
  PublishedReport report;
  report.total = static_cast<int>(cases.size());
  for (const PublishedCase& published : cases) {
    const absl::StatusOr<LoadedCase> loaded = load(published);
    absl::StatusOr<std::vector<Tensor>> outputs =
        loaded.ok() ? run(*loaded) : absl::StatusOr<std::vector<Tensor>>(loaded.status());
    if (absl::IsUnimplemented(outputs.status())) {
      report.skips[published.name] = std::string(outputs.status().message());
      continue;
    }
    ++report.applicable;
    const std::string difference = outputs.ok() ? DifferenceOf(loaded->expected, *outputs)
                                                : std::string(outputs.status().message());
    if (difference.empty()) {
      ++report.passed;
      report.passes.push_back(published.name);
    } else {
      report.failures[published.name] = difference;
    }
  }
  WriteAllCases(report);
  return report;
}

std::string PublishedReport::ToString() const {
  std::string text = absl::StrCat("published cases: passed ", passed, " of ", applicable,
                                  " applicable, ", total, " in total\n");
  for (const auto& [name, reason] : failures)
    absl::StrAppend(&text, "FAIL ", name, ": ", reason, "\n");
  std::map<std::string, int> reasons;
  for (const auto& [name, reason] : skips) ++reasons[reason];
  for (const auto& [reason, count] : reasons) {
    absl::StrAppend(&text, "not applicable (", count, "): ", reason, "\n");
  }
  return text;
}

std::string PublishedReport::AllCases() const {
  std::string text;
  for (const std::string& name : passes) absl::StrAppend(&text, "passed ", name, "\n");
  for (const auto& [name, reason] : failures) {
    absl::StrAppend(&text, "failed ", name, " ", reason, "\n");
  }
  for (const auto& [name, reason] : skips) {
    absl::StrAppend(&text, "skipped ", name, " ", reason, "\n");
  }
  return text;
}

void ExpectOnlyKnownFailures(const PublishedReport& report) {
  const char* const given = std::getenv("PLAIT_PUBLISHED_CASES");
  const auto known = ReadKnownFailures(
      given != nullptr ? absl::StrCat(given, "/known_failures.txt")
                       : SourcePath("tests/conformance/published/known_failures.txt"));
  for (const auto& [name, reason] : report.failures) {
    EXPECT_TRUE(known.contains(name)) << name << ": " << reason;
  }
  for (const auto& [name, reason] : known) {
    EXPECT_FALSE(reason.empty()) << name << " is listed without a reason";
    EXPECT_TRUE(report.failures.contains(name)) << name << " is listed, but does not fail";
  }
  EXPECT_GT(report.applicable, 400) << "far fewer cases apply than are known to";
}

}  // namespace plait
