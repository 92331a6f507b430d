#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/executor/simple_plan.h"

namespace plait {

// The graph of a text whose node types may be left out; a text that is wrong fails the test.
inline Graph ParseTyped(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

// An executor and the kernels of its device, for a fixture to open in SetUp.
class WithExecutor {
 protected:
  // Fails the test if the backend does not open, and skips it where there is no such device.
  // `threads` 0: all that the device has.
  void Open(const std::string& backend, int threads) {
    const bool is_gpu = backend == "cuda";
    absl::StatusOr<std::unique_ptr<Executor>> executor =
        OpenExecutor(is_gpu ? "cuda:0" : backend, {.threads = is_gpu ? 0 : threads});
    const bool is_absent =
        absl::IsUnavailable(executor.status()) || absl::IsNotFound(executor.status());
    if (is_gpu && is_absent) GTEST_SKIP() << executor.status();
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
    absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(executor_->device());
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    catalog_ = *std::move(catalog);
  }

  std::unique_ptr<Executor> executor_;
  std::unique_ptr<KernelCatalog> catalog_;
};

// A test that runs kernels or plans on this machine's processor.
class ExecutorFixture : public testing::Test, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 0); }

  Plan PlanOf(const Graph& graph, const SimplePlanOptions& options = {}) const {
    return SimplePlan(graph, executor_->device(), *catalog_, options);
  }
};

}  // namespace plait
