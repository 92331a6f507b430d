#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/run/prepare_candidates.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

namespace plait::cuda {

// Of which candidates take a share.
inline constexpr int kTimedMultiprocessors = 100;

// Candidates of generated kernels on a simulated device, whose events say nothing of time.
// `SomeRuntime` is DriverRuntime, or a test's own.
template <typename SomeRuntime>
class TimingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
    Result<Stream> stream = runtime_.CreateStream(0);
    ASSERT_TRUE(stream.ok());
    stream_ = OwnedStream(&runtime_, stream.value());
    auto staging = Staging::Make(&runtime_, 1 << 16);
    ASSERT_TRUE(staging.ok());
    staging_ = std::move(staging).value();
  }

  // What generated kernels there are for the step, prepared; none where they know no such problem.
  std::vector<std::unique_ptr<Candidate>> Generated(const StepProblem& step) {
    const CudaDevice device = {.present = true, .runtime = &runtime_};
    auto answers = AskSources(step, device, /*has_libraries=*/false);
    EXPECT_TRUE(answers.back().candidates.ok());
    auto candidates = std::move(answers.back().candidates).value();
    for (const auto& candidate : candidates) EXPECT_TRUE(candidate->Prepare().ok());
    return candidates;
  }

  Result<CandidateChoice> Choose(const std::vector<std::unique_ptr<Candidate>>& candidates,
                                 const StepProblem& step) {
    return ChooseCandidates(candidates, step, MakeTrialData(step),
                            {&runtime_, stream_.get(), staging_.get(), kTimedMultiprocessors});
  }

  simulated_gpu::SimulatedDriver driver_;
  SomeRuntime runtime_{0, &driver_.library()};
  OwnedStream stream_;
  std::unique_ptr<Staging> staging_;
};

}  // namespace plait::cuda
