#include "gpu_worker/backends/cuda/run/time_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/run/implementations.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

namespace plait::cuda {
namespace {

using testing::HasSubstr;

// Answers a launch, and computes nothing.
class IdleCandidate : public Candidate {
 public:
  explicit IdleCandidate(Status answer, size_t workspace_bytes = 512)
      : answer_(std::move(answer)), workspace_bytes_(workspace_bytes) {}
  std::string name() const override { return "idle"; }
  std::vector<std::string> notes() const override { return {}; }
  Status Prepare() override { return Ok(); }
  size_t workspace_bytes() const override { return workspace_bytes_; }
  Status Launch(const Operands& operands, CUstream_st* /*stream*/) override {
    EXPECT_NE(operands.workspace, nullptr);
    return answer_;
  }

 private:
  const Status answer_;
  const size_t workspace_bytes_;
};

// On a simulated device, whose events say nothing of time: what is looked at is who is left out.
class TimeCandidatesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
    Result<Stream> stream = runtime_.CreateStream(0);
    ASSERT_TRUE(stream.ok());
    stream_ = OwnedStream(&runtime_, stream.value());
    auto staging = Staging::Make(&runtime_, 1 << 16);
    ASSERT_TRUE(staging.ok());
    staging_ = std::move(staging).value();
    step_.kind = StepProblem::Kind::kLaunch;
    step_.problem.problem =
        RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .rows = 3, .columns = 50};
    step_.shape = ShapeOf(step_.problem.problem).value();
  }

  Result<size_t> Fastest(const std::vector<std::unique_ptr<Candidate>>& candidates) {
    return FastestOf(candidates, step_, MakeTrialData(step_),
                     {&runtime_, stream_.get(), staging_.get()});
  }

  std::vector<std::unique_ptr<Candidate>> Generated() {
    CudaDevice device = {.present = true, .runtime = &runtime_};
    auto answers = AskSources(step_, device, /*has_libraries=*/false);
    auto candidates = std::move(answers.back().candidates).value();
    for (const auto& candidate : candidates) EXPECT_TRUE(candidate->Prepare().ok());
    return candidates;
  }

  simulated_gpu::SimulatedDriver driver_;
  DriverRuntime runtime_{0, &driver_.library()};
  OwnedStream stream_;
  std::unique_ptr<Staging> staging_;
  StepProblem step_;
};

TEST_F(TimeCandidatesTest, LeavesOutWhatIsWrongOrRefused) {
  std::vector<std::unique_ptr<Candidate>> candidates = Generated();
  ASSERT_GE(candidates.size(), 1u);
  const size_t right = candidates.size();
  candidates.insert(candidates.begin(), std::make_unique<IdleCandidate>(Ok()));
  candidates.insert(candidates.begin(),
                    std::make_unique<IdleCandidate>(Error{ErrorCode::kUnsupported, "it will not"}));
  const Result<size_t> fastest = Fastest(candidates);
  ASSERT_TRUE(fastest.ok()) << fastest.error().message;
  EXPECT_GE(fastest.value(), 2u);
  EXPECT_LT(fastest.value(), right + 2);
}

TEST_F(TimeCandidatesTest, SaysWhyNoneIsLeft) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::make_unique<IdleCandidate>(Ok()));
  candidates.push_back(
      std::make_unique<IdleCandidate>(Error{ErrorCode::kUnsupported, "it will not"}));
  const Result<size_t> fastest = Fastest(candidates);
  ASSERT_FALSE(fastest.ok());
  EXPECT_EQ(fastest.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(fastest.error().message, HasSubstr("it will not; idle: wrong results"));
}

// Beside other plans. It is asked for again when they have gone.
TEST_F(TimeCandidatesTest, ACandidateWithoutRoomIsLeftOutForNow) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::make_unique<IdleCandidate>(Ok(), size_t{1} << 50));
  const Result<size_t> fastest = Fastest(candidates);
  ASSERT_FALSE(fastest.ok());
  EXPECT_EQ(fastest.error().code, ErrorCode::kDevice);
  EXPECT_THAT(fastest.error().message, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY for its workspace"));
  for (auto& candidate : Generated()) candidates.push_back(std::move(candidate));
  EXPECT_GE(Fastest(candidates).value(), 1u);
}

// A driver that takes no PTX, as a real one, and fails while it is told to.
class UnhealthyRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;
  bool TakesPtx() override { return false; }
  Status CheckHealth() override {
    return is_healthy ? DriverRuntime::CheckHealth() : Error{ErrorCode::kDevice, "it is ill"};
  }
  bool is_healthy = false;
};

TEST_F(TimeCandidatesTest, WhatAnIllDeviceCouldNotPrepareIsAskedForAgain) {
  UnhealthyRuntime runtime(0, &driver_.library());
  const CudaDevice device = {.present = true, .runtime = &runtime};
  Implementations implementations(device, /*has_libraries=*/false, stream_.get(), staging_.get());
  implementations.Anticipate({step_, step_}, {});
  runtime.is_healthy = true;
  // The simulated driver refuses cubins, which is known only to who has tried.
  EXPECT_THAT(implementations.Find(step_).status().message(), HasSubstr("cuLibraryLoadData"));
}

}  // namespace
}  // namespace plait::cuda
