#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/run/cuda_executor.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/executor/simple_plan.h"

namespace plait::cuda {

// Tests of the executor on a device of a simulated driver, which refuses what a GPU would do by
// luck: a run that is not a violation has ordered everything that it touched.
class SimulatedExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
    Open(0);
  }

  // Whatever a test has done, everything is given back and nothing was refused.
  void TearDown() override {
    executor_ = nullptr;
    EXPECT_THAT(driver_.Leaks(), testing::IsEmpty());
    EXPECT_THAT(driver_.violations(), testing::IsEmpty());
  }

  void Open(int device) {
    executor_ = nullptr;
    auto executor =
        OpenOn(std::make_unique<DriverRuntime>(device, &driver_.library()), device, {}, false);
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
  }

  static plait::Graph Parse(const std::string& text) {
    absl::StatusOr<plait::Graph> graph = ParseTypedGraph(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph.ok() ? *std::move(graph) : plait::Graph();
  }

  // The steps of which a report says that they run on the host.
  int FallbacksOf(const Plan& plan) const {
    return static_cast<int>(
        std::count_if(plan.steps.begin(), plan.steps.end(),
                      [this](const Step& step) { return catalog_.IsFallback(step.kernel); }));
  }

  Plan PlanOf(const plait::Graph& graph, const SimplePlanOptions& options = {}) const {
    return SimplePlan(graph, executor_->device(), catalog_, options);
  }

  // Fails the test where it cannot be loaded.
  std::unique_ptr<Executable> Load(const plait::Graph& graph, const Plan& plan) {
    absl::StatusOr<std::unique_ptr<Executable>> loaded = executor_->Load(graph, plan, NoWeights());
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }

  absl::Status LoadStatus(const plait::Graph& graph, const Plan& plan) {
    return executor_->Load(graph, plan, NoWeights()).status();
  }

  static std::vector<Tensor> InputsFor(const plait::Graph& graph, int seed = 1) {
    absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, static_cast<uint64_t>(seed));
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    return inputs.ok() ? *std::move(inputs) : std::vector<Tensor>();
  }

  // Whether the executable gives what the graph's definition says, on inputs of some seeds.
  static void ExpectEqualsReference(const plait::Graph& graph, Executable* executable,
                                    int runs = 2) {
    ASSERT_NE(executable, nullptr);
    OutputComparer comparer(1e-5);
    for (int seed = 1; seed <= runs; ++seed) {
      const std::vector<Tensor> inputs = InputsFor(graph, seed);
      const auto expected = EvaluateGraph(graph, inputs, NoWeights());
      ASSERT_TRUE(expected.ok()) << expected.status();
      const auto actual = executable->Run(inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      comparer.Add(*expected, *actual);
    }
    EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kEquivalent)
        << comparer.Result().reason;
  }

  // First, to go last.
  simulated_gpu::SimulatedDriver driver_;
  std::unique_ptr<Executor> executor_;
  const CudaCatalog catalog_{{}};
};

}  // namespace plait::cuda
