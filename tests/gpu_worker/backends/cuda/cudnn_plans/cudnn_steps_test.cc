#include "tests/gpu_worker/backends/cuda/cudnn_plans/cudnn_steps.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/search/described_plans.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/problem/strict_kernels.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "gpu_worker/executor/one_kernel_plan.h"
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
  const Plan plan = *OneKernelPlan(graph, {.family = "conv",
                                           .variant = "strict/auto",
                                           .nodes = {0, 1},
                                           .input_formats = {Format::kPlain},
                                           .output_formats = {Format::kPlain}});
  PlanLaunches launches(cuda::Precision::kStrict, device_);
  ASSERT_TRUE(launches.Add(graph, plan).ok());
  EXPECT_THAT(launches.split(), ElementsAre(HasSubstr("Conv+Relu")));
  EXPECT_THAT(launches.steps(), SizeIs(2));
}

// 3x3, 1x1 and grouped, with and without all that may stand around them.
std::vector<cuda::ConvProblem> Convolutions() {
  std::vector<cuda::ConvProblem> problems;
  for (const auto& [window, groups] : {std::pair(3, 1), {1, 1}, {3, 8}}) {
    for (const cuda::Activation activation :
         {cuda::Activation::kNone, cuda::Activation::kRelu, cuda::Activation::kRelu6,
          cuda::Activation::kSigmoid}) {
      for (const bool bias : {false, true}) {
        for (const bool residual : {false, true}) {
          for (const bool prologue : {false, true}) {
            const int64_t pad = window / 2;
            problems.push_back({.n = 1,
                                .c = 64,
                                .h = 16,
                                .w = 16,
                                .k = 64,
                                .r = window,
                                .s = window,
                                .pad = {pad, pad, pad, pad},
                                .groups = groups,
                                .bias = bias,
                                .residual = residual,
                                .prologue_relu = prologue,
                                .activation = activation});
          }
        }
      }
    }
  }
  return problems;
}

std::vector<cuda::GemmProblem> Products() {
  std::vector<cuda::GemmProblem> problems;
  for (const cuda::Activation activation :
       {cuda::Activation::kNone, cuda::Activation::kRelu, cuda::Activation::kRelu6,
        cuda::Activation::kGelu, cuda::Activation::kGeluTanh, cuda::Activation::kSigmoid}) {
    for (const bool bias : {false, true}) {
      for (const bool residual : {false, true}) {
        problems.push_back({.m = 64,
                            .n = 64,
                            .k = 64,
                            .bias = bias,
                            .residual = residual,
                            .activation = activation});
      }
    }
  }
  return problems;
}

// It is what the catalog offers by, which asks no library.
TEST_F(CudnnStepsTest, StrictKernelsAreThoseThatLibrariesListAndOurs) {
  std::vector<cuda::StepProblem> steps;
  const auto add = [&](const cuda::Problem& problem, cuda::MemoryLayout layout) {
    steps.push_back({.kind = cuda::StepProblem::Kind::kLaunch,
                     .problem = {.problem = problem, .layout = layout}});
  };
  for (const cuda::ConvProblem& problem : Convolutions()) {
    add(problem, cuda::MemoryLayout::kNchw);
    add(problem, cuda::MemoryLayout::kNhwc);
  }
  for (const cuda::GemmProblem& problem : Products()) add(problem, cuda::MemoryLayout::kNchw);
  int without = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const cuda::KernelProblem& kernel = steps[i].problem;
    const bool is_there = IsComputedWhole(steps[i], device_);
    EXPECT_EQ(cuda::HasStrictKernel(kernel.problem, kernel.layout), is_there) << i;
    without += !is_there;
  }
  EXPECT_GT(without, 50);
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
