#include <cstdio>

#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/load_segments.h"
#include "loading/segmented_executable.h"
#include "tests/conformance/published/published_report.h"

namespace plait {
namespace {

// Cases whose sizes only a run tells, and those with subgraphs: in parts, without another runtime.
TEST(PartsPublishedTest, ComputesWhatOnnxPublishes) {
  const absl::StatusOr<std::vector<PublishedCase>> cases = FindPublishedCases(PublishedRoot());
  if (!cases.ok()) GTEST_SKIP() << cases.status() << " (install libonnx-testdata)";
  const auto executor = OpenExecutor("cpu", {.threads = 2});
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto run = [&](const LoadedCase& loaded) -> absl::StatusOr<std::vector<Tensor>> {
    Bound bound;
    bound.graph = loaded.graph;
    bound.opaque_nodes = loaded.opaque_nodes;
    PLAIT_ASSIGN_OR_RETURN(LoadedSegments parts,
                           LoadSegments({loaded.model, bound, {}, PartsLoading{**executor}}));
    SegmentedExecutable executable(std::move(parts.model), parts.reference_nodes);
    return executable.Run(loaded.inputs);
  };
  const PublishedReport report = RunPublishedCases(*cases, run, LoadOpaqueCase);
  std::printf("%s", report.ToString().c_str());
  EXPECT_TRUE(report.failures.empty());
  EXPECT_GT(report.passed, 20) << "far fewer cases apply than are known to";
}

}  // namespace
}  // namespace plait
