#include <cstdio>

#include <gtest/gtest.h>

#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/conformance/published/published_report.h"

namespace plait {
namespace {

TEST(ReferencePublishedTest, ComputesWhatOnnxPublishes) {
  const absl::StatusOr<std::vector<PublishedCase>> cases = FindPublishedCases(kPublishedRoot);
  if (!cases.ok()) GTEST_SKIP() << cases.status() << " (install libonnx-testdata)";
  const PublishedReport report = RunPublishedCases(*cases, [](const LoadedCase& loaded) {
    return EvaluateGraph(loaded.graph, loaded.inputs, loaded.model.weights());
  });
  std::printf("%s", report.ToString().c_str());
  ExpectOnlyKnownFailures(report);
}

}  // namespace
}  // namespace plait
