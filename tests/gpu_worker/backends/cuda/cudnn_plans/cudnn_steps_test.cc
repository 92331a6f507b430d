#include "tests/gpu_worker/backends/cuda/cudnn_plans/cudnn_steps.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/search/described_plans.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "gpu_worker/simulated_gpu/cudnn/real_library.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kConvolution[] = R"(graph {
  input %x: float32[1,64,16,16]
  const %w: float32[64,64,3,3] = synthetic 1
  const %b: float32[64] = synthetic 2
  %a = Conv(%x, %w, %b) {pads=[1,1,1,1]}
  %y = Relu(%a) {}
  output %y
})";
constexpr char kProduct[] = R"(graph {
  input %x: float32[64,256]
  const %w: float32[256,256] = synthetic 1
  %y = MatMul(%x, %w) {}
  output %y
})";

class CudnnStepsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = UseRealCudnn(); !status.ok()) GTEST_SKIP() << status;
  }
  void TearDown() override { cuda::CudnnLibrary::Use(nullptr); }

  // Of the last plan that a model has, those that cuDNN is asked for.
  std::vector<ListedStep> StepsOf(const char* text, cuda::Precision precision) const {
    const Graph graph = *ParseTypedGraph(text);
    const std::vector<Plan> plans = *PlansOnDescribed(graph, kH200Device);
    PlanLaunches launches(precision, device_);
    EXPECT_TRUE(launches.Add(graph, plans.back()).ok());
    std::vector<ListedStep> steps = launches.steps();
    std::erase_if(steps, [](const ListedStep& step) { return !HasCudnnPattern(step.problem); });
    return steps;
  }

  const cuda::CudaDevice device_ = cuda::DescribeH200();
};

TEST_F(CudnnStepsTest, AConvolutionHasPlansInEveryPrecision) {
  for (const cuda::Precision precision : {cuda::Precision::kStrict, cuda::Precision::kTf32,
                                          cuda::Precision::kFp16, cuda::Precision::kBf16}) {
    const std::vector<ListedStep> steps = StepsOf(kConvolution, precision);
    ASSERT_THAT(steps, SizeIs(1)) << cuda::PrecisionName(precision);
    EXPECT_THAT(steps[0].name, AllOf(HasSubstr("Conv+Relu"), HasSubstr("float32[1,64,16,16]")));
    const CudnnAnswer answer = AskCudnn(steps[0].problem, device_, Engines::kFirst);
    EXPECT_GE(answer.precompiled, 1) << cuda::PrecisionName(precision) << answer.reason;
    EXPECT_FALSE(answer.is_failure());
  }
}

// Tensor cores multiply in it, for which cuDNN compiles what is asked for.
TEST_F(CudnnStepsTest, PlansThatAreCompiledAtRunTimeCountApart) {
  const std::vector<ListedStep> steps = StepsOf(kProduct, cuda::Precision::kTf32);
  ASSERT_THAT(steps, SizeIs(1));
  const CudnnAnswer answer = AskCudnn(steps[0].problem, device_, Engines::kAll);
  EXPECT_EQ(answer.precompiled, 0);
  EXPECT_EQ(answer.runtime_compiled, 1) << answer.reason;
  EXPECT_FALSE(answer.is_failure());
}

TEST_F(CudnnStepsTest, WhatCudnnListsNothingForIsRunByAnother) {
  const std::vector<ListedStep> steps = StepsOf(kProduct, cuda::Precision::kStrict);
  ASSERT_THAT(steps, SizeIs(1));
  const CudnnAnswer answer = AskCudnn(steps[0].problem, device_, Engines::kFirst);
  EXPECT_FALSE(answer.has_plan());
  EXPECT_EQ(answer.refused, 0);
  EXPECT_EQ(answer.reason, "cuDNN lists no engine");
  EXPECT_EQ(answer.instead, "cublaslt");
  EXPECT_FALSE(answer.is_failure());
}

// In fp32 no engine computes a convolution without a bias and the Relu behind it, nor do we.
TEST_F(CudnnStepsTest, WhatNothingComputesWholeIsSplit) {
  const Graph graph = *ParseTypedGraph(R"(graph {
  input %x: float32[1,64,16,16]
  const %w: float32[64,64,3,3] = synthetic 1
  %a = Conv(%x, %w) {pads=[1,1,1,1]}
  %y = Relu(%a) {}
  output %y
})");
  const std::vector<Plan> plans = *PlansOnDescribed(graph, kH200Device);
  PlanLaunches launches(cuda::Precision::kStrict, device_);
  ASSERT_TRUE(launches.Add(graph, plans.back()).ok());
  EXPECT_THAT(launches.split(), ElementsAre(HasSubstr("Conv+Relu")));
  EXPECT_THAT(launches.steps(), SizeIs(2));
}

// What cuDNN lists, it has to finalise.
TEST_F(CudnnStepsTest, AStepWhosePlansAreAllRefusedIsAFailure) {
  const std::vector<ListedStep> steps = StepsOf(kConvolution, cuda::Precision::kStrict);
  ASSERT_THAT(steps, SizeIs(1));
  cuda::CudnnLibrary without_plans = *simulated_gpu::RealCudnn();
  without_plans.create_descriptor = [](cudnnBackendDescriptorType_t type,
                                       cudnnBackendDescriptor_t* descriptor) {
    if (type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) return CUDNN_STATUS_NOT_SUPPORTED;
    return simulated_gpu::RealCudnn()->create_descriptor(type, descriptor);
  };
  cuda::CudnnLibrary::Use(&without_plans);
  const CudnnAnswer answer = AskCudnn(steps[0].problem, device_, Engines::kFirst);
  EXPECT_FALSE(answer.has_plan());
  EXPECT_GT(answer.refused, 1);
  EXPECT_THAT(answer.reason, HasSubstr("cudnn/eng"));
  EXPECT_TRUE(answer.is_failure());
}

}  // namespace
}  // namespace plait
