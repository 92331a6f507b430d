#include <cstdio>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/evaluate.h"
#include "tests/conformance/published/published_report.h"

namespace plait {
namespace {

constexpr char kRoot[] = "/usr/share/libonnx-testdata/data";

TEST(ReferencePublishedTest, ComputesWhatOnnxPublishes) {
  const absl::StatusOr<std::vector<PublishedCase>> cases = FindPublishedCases(kRoot);
  if (!cases.ok()) GTEST_SKIP() << cases.status() << " (install libonnx-testdata)";
  const PublishedReport report = RunPublishedCases(*cases, [](const LoadedCase& loaded) {
    return EvaluateGraph(loaded.graph, loaded.inputs, loaded.model.weights());
  });
  std::printf("%s", report.ToString().c_str());
  const auto known = ReadKnownFailures(
      absl::StrCat(PLAIT_SOURCE_DIR, "/tests/conformance/published/reference_known_failures.txt"));
  for (const auto& [name, reason] : report.failures) {
    EXPECT_TRUE(known.contains(name)) << name << ": " << reason;
  }
  for (const auto& [name, reason] : known) {
    EXPECT_FALSE(reason.empty()) << name << " is listed without a reason";
    EXPECT_TRUE(report.failures.contains(name)) << name << " is listed, but does not fail";
  }
  EXPECT_GT(report.applicable, 400) << "far fewer cases apply than are known to";
}

}  // namespace
}  // namespace plait
