#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// $0: scales of all axes, $1: attributes.
constexpr char kResized[] = R"(graph {
  input %x: float32[2,3,5,7]
  const %roi: float32[8] = [0,0,0,0,1,1,1,1]
  const %scales: float32[4] = [$0]
  %y = Resize(%x, %roi, %scales) {$1}
  output %y
})";

std::vector<Kernel> ResizesOf(const Graph& graph) {
  std::vector<Kernel> found;
  for (Kernel& kernel : CudaCatalog({}).KernelsAt(graph, 0, true)) {
    if (kernel.family == "resize") found.push_back(std::move(kernel));
  }
  return found;
}

// In both layouts, beside the definition of the operator.
TEST(ResizeProblemTest, EveryModeIsWhatTheNodeSays) {
  const char* const modes[] = {
      "mode=\"nearest\"",
      "coordinate_transformation_mode=\"asymmetric\", mode=\"nearest\", nearest_mode=\"ceil\"",
      "mode=\"linear\"",
      "coordinate_transformation_mode=\"align_corners\", mode=\"linear\"",
      "coordinate_transformation_mode=\"pytorch_half_pixel\", mode=\"cubic\"",
      "antialias=1, mode=\"linear\"",
      "cubic_coeff_a=-0.5, exclude_outside=1, mode=\"cubic\""};
  for (const char* mode : modes) {
    for (const char* scales : {"1,1,2,3", "1,1,0.6,1.5", "1,1,0.4,0.3"}) {
      const std::string text = absl::Substitute(kResized, scales, mode);
      const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
      ASSERT_TRUE(graph.ok()) << graph.status() << text;
      const std::vector<Kernel> kernels = ResizesOf(*graph);
      EXPECT_EQ(kernels.size(), 2u) << text;
      for (const Kernel& kernel : kernels) {
        const absl::StatusOr<ProblemCheck> check =
            CheckKernelProblemIn(*graph, kernel, 7, 1000000000);
        ASSERT_TRUE(check.ok()) << check.status() << text;
        EXPECT_LE(check->relative_l2, 1e-6) << text;
      }
    }
  }
}

TEST(ResizeProblemTest, WhatChangesChannelsOrCropsHasNone) {
  const std::string crop = "coordinate_transformation_mode=\"tf_crop_and_resize\", mode=\"linear\"";
  for (const std::string& text : {absl::Substitute(kResized, "1,2,2,2", "mode=\"nearest\""),
                                  absl::Substitute(kResized, "1,1,2,2", crop)}) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << text;
    EXPECT_TRUE(ResizesOf(*graph).empty()) << text;
  }
}

}  // namespace
}  // namespace plait::cuda
