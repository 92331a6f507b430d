#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::ElementsAre;

// Of the kernels that a device of so many threads is offered for the first node.
std::set<int> WidthsOf(const std::string& text, int threads) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  DeviceDescription device;
  device.threads = threads;
  device.instruction_set = "avx2";
  std::set<int> widths;
  for (const Kernel& kernel : CpuCatalog(device).KernelsAt(*graph, 0, /*fuse=*/true)) {
    widths.insert(kernel.width);
  }
  return widths;
}

// Of a product of two square matrices.
std::set<int> WidthsOf(int64_t size, int threads) {
  return WidthsOf(absl::StrFormat("graph {\n  input %%x: float32[%1$d,%1$d]\n"
                                  "  const %%w: float32[%1$d,%1$d] = synthetic 1\n"
                                  "  %%y = MatMul(%%x, %%w)\n  output %%y\n}",
                                  size),
                  threads);
}

// Of one query of four heads that attends to so many keys.
std::set<int> WidthsOfOneQuery(int64_t keys) {
  return WidthsOf(
      absl::StrFormat("graph {\n  input %%q: float32[1,4,1,64]\n"
                      "  input %%k: float32[1,4,%1$d,64]\n  input %%v: float32[1,4,%1$d,64]\n"
                      "  %%y = Attention(%%q, %%k, %%v)\n  output %%y\n}",
                      keys),
      2);
}

TEST(OfferedWidthsTest, WhatIsSmallStaysWithOneThread) {
  EXPECT_THAT(WidthsOf(32, 2), ElementsAre(1));
}

TEST(OfferedWidthsTest, BetweenThatBothAreMeasured) {
  EXPECT_THAT(WidthsOf(128, 2), ElementsAre(1, 2));
  EXPECT_THAT(WidthsOf(256, 2), ElementsAre(1, 2));
}

TEST(OfferedWidthsTest, WhatKeepsEveryThreadBusyForLongTakesAll) {
  EXPECT_THAT(WidthsOf(512, 2), ElementsAre(2));
  EXPECT_THAT(WidthsOf(512, 8), ElementsAre(8));
  EXPECT_THAT(WidthsOf(512, 16), ElementsAre(1, 16));
  EXPECT_THAT(WidthsOf(512, 1), ElementsAre(1));
}

TEST(OfferedWidthsTest, FewQueriesAreDividedWhereThereAreManyKeys) {
  EXPECT_THAT(WidthsOfOneQuery(16), ElementsAre(1));
  EXPECT_THAT(WidthsOfOneQuery(256), ElementsAre(1, 2));
}

}  // namespace
}  // namespace plait
