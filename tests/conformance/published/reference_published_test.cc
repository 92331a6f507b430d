#include <cstdio>

#include <gtest/gtest.h>

#include "optimizer/onnx/check_export.h"
#include "optimizer/onnx/export.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/conformance/published/published_report.h"

namespace plait {
namespace {

TEST(ReferencePublishedTest, ComputesWhatOnnxPublishes) {
  const absl::StatusOr<std::vector<PublishedCase>> cases = FindPublishedCases(PublishedRoot());
  if (!cases.ok()) GTEST_SKIP() << cases.status() << " (install libonnx-testdata)";
  const PublishedReport report = RunPublishedCases(*cases, [](const LoadedCase& loaded) {
    return EvaluateGraph(loaded.graph, loaded.inputs, loaded.model.weights());
  });
  std::printf("%s", report.ToString().c_str());
  ExpectOnlyKnownFailures(report);
}

TEST(ReferencePublishedTest, WhatIsExportedIsImportedAsTheSameGraph) {
  const absl::StatusOr<std::vector<PublishedCase>> cases = FindPublishedCases(PublishedRoot());
  if (!cases.ok()) GTEST_SKIP() << cases.status() << " (install libonnx-testdata)";
  int checked = 0;
  for (const PublishedCase& published : *cases) {
    const absl::StatusOr<LoadedCase> loaded = LoadPublishedCase(published);
    if (!loaded.ok()) continue;
    const WeightSource& weights = loaded->model.weights();
    const absl::StatusOr<std::string> bytes = ExportOnnx(loaded->model, loaded->graph, weights, {});
    ASSERT_TRUE(bytes.ok()) << published.name << ": " << bytes.status();
    EXPECT_EQ(CheckExport(*bytes, loaded->graph, weights), absl::OkStatus()) << published.name;
    ++checked;
  }
  EXPECT_GT(checked, 400);
}

}  // namespace
}  // namespace plait
