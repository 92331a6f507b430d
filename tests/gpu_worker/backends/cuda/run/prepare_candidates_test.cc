#include "gpu_worker/backends/cuda/run/prepare_candidates.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/kernel_libraries.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

namespace plait::cuda {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

StepProblem SoftmaxOf(int64_t columns) {
  StepProblem step = {.kind = StepProblem::Kind::kLaunch};
  step.problem.problem =
      RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .rows = 3, .columns = columns};
  step.shape = ShapeOf(step.problem.problem).value();
  return step;
}

std::vector<std::string> NamesOf(const PreparedStep& prepared) {
  std::vector<std::string> names;
  for (const auto& candidate : prepared.candidates) names.push_back(candidate->name());
  return names;
}

// Fails from the beginning.
class IllRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;
  Status CheckHealth() override { return Error{ErrorCode::kDevice, "it is ill"}; }
};

// All threads but the first are late.
class LateRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;
  Status CheckHealth() override {
    if (begun++ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Status health = DriverRuntime::CheckHealth();
    ++ended;
    return health;
  }
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
};

class CountingRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;
  Result<Library> LoadLibrary(const std::string& code) override {
    ++loaded;
    return DriverRuntime::LoadLibrary(code);
  }
  std::atomic<int> loaded = 0;
};

class PrepareCandidatesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
    // More than are prepared ahead.
    for (int i = 0; i < 60; ++i) steps_.push_back(SoftmaxOf(i % 6 == 0 ? 1000 + i : 10 + i));
    for (const StepProblem& step : steps_) pointers_.push_back(&step);
  }

  PreparedStep First(
      const StepProblem& step,
      absl::FunctionRef<Status(Candidate*)> try_out = [](Candidate*) { return Ok(); }) const {
    Result<PreparedStep> first = PrepareFirst(step, device_, /*has_libraries=*/false, try_out);
    return first.ok() ? std::move(first).value() : PreparedStep();
  }

  simulated_gpu::SimulatedDriver driver_;
  DriverRuntime runtime_{0, &driver_.library()};
  const CudaDevice device_ = {.present = true, .runtime = &runtime_};
  std::vector<StepProblem> steps_;
  std::vector<const StepProblem*> pointers_;
};

TEST_F(PrepareCandidatesTest, GivesAllOfThemInTheOrderOfStepsAndSources) {
  size_t next = 0;
  PrepareSteps(pointers_, device_, /*has_libraries=*/false, Prepared::kAll, {},
               [&](const StepProblem& step, PreparedStep prepared) {
                 ASSERT_LT(next, steps_.size());
                 EXPECT_EQ(&step, pointers_[next++]);
                 std::vector<std::string> listed;
                 for (SourceAnswer& answer : AskSources(step, device_, false)) {
                   if (!answer.candidates.ok()) continue;
                   for (const auto& candidate : answer.candidates.value()) {
                     listed.push_back(candidate->name());
                   }
                 }
                 EXPECT_THAT(NamesOf(prepared), ElementsAreArray(listed));
                 EXPECT_EQ(prepared.trial.reference.empty(), listed.empty());
                 EXPECT_THAT(prepared.reasons, HasSubstr("the simulated device has no cudnn"));
               });
  EXPECT_EQ(next, steps_.size());
}

// Of whatever steps. How many at a time depends on how many threads there are.
TEST_F(PrepareCandidatesTest, KernelsOfSeveralStepsAreOneLibrary) {
  CountingRuntime counting(0, &driver_.library());
  KernelLibraries libraries(&counting);
  const CudaDevice device = {.present = true, .runtime = &counting, .kernel_libraries = &libraries};
  int kernels = 0;
  PrepareSteps(pointers_, device, false, Prepared::kFirst, {},
               [&](const StepProblem&, PreparedStep prepared) {
                 ASSERT_THAT(prepared.candidates, SizeIs(1));
                 ++kernels;
               });
  EXPECT_EQ(kernels, 60);
  EXPECT_LE(counting.loaded, kernels / 2);
}

TEST_F(PrepareCandidatesTest, TheFirstOfThemIsTheFirst) {
  PrepareSteps({&pointers_[0], 1}, device_, false, Prepared::kAll, {},
               [&](const StepProblem& step, PreparedStep prepared) {
                 ASSERT_GE(prepared.candidates.size(), 2u);
                 const std::vector<std::string> names = NamesOf(prepared);
                 EXPECT_THAT(NamesOf(First(step)), ElementsAreArray({names[0]}));
                 // One that is not right is passed over, and says why.
                 int tried = 0;
                 const PreparedStep second = First(step, [&](Candidate*) {
                   return ++tried == 2 ? Ok() : Error{ErrorCode::kUnsupported, "it is wrong"};
                 });
                 EXPECT_THAT(NamesOf(second), ElementsAreArray({names[1]}));
                 EXPECT_THAT(second.reasons, HasSubstr("it is wrong"));
                 const auto fails = [](Candidate*) -> Status {
                   return Error{ErrorCode::kDevice, "it has failed"};
                 };
                 EXPECT_EQ(PrepareFirst(step, device_, false, fails).error().code,
                           ErrorCode::kDevice);
               });
}

TEST_F(PrepareCandidatesTest, IsStoppedBetweenSteps) {
  std::stop_source stop;
  int given = 0;
  PrepareSteps(pointers_, device_, false, Prepared::kAll, stop.get_token(),
               [&](const StepProblem&, PreparedStep) {
                 if (++given == 3) stop.request_stop();
               });
  // What was prepared by then may still be given.
  EXPECT_GE(given, 3);
  EXPECT_LT(given, static_cast<int>(steps_.size()));
  given = 0;
  PrepareSteps(pointers_, device_, false, Prepared::kAll, stop.get_token(),
               [&](const StepProblem&, PreparedStep) { ++given; });
  EXPECT_LT(given, static_cast<int>(steps_.size()));
}

TEST_F(PrepareCandidatesTest, AnIllDeviceEndsIt) {
  IllRuntime ill(0, &driver_.library());
  const CudaDevice device = {.present = true, .runtime = &ill};
  PrepareSteps(pointers_, device, false, Prepared::kAll, {},
               [&](const StepProblem&, PreparedStep) { ADD_FAILURE() << "nothing is prepared"; });
}

// Who times the first steps captures streams, which a look at the device's health would break.
TEST_F(PrepareCandidatesTest, NobodyAsksForTheDevicesHealthOnceStepsCome) {
  LateRuntime late(0, &driver_.library());
  const CudaDevice device = {.present = true, .runtime = &late};
  int ended_at_first = -1;
  PrepareSteps(pointers_, device, false, Prepared::kAll, {}, [&](const StepProblem&, PreparedStep) {
    if (ended_at_first < 0) ended_at_first = late.ended;
  });
  EXPECT_EQ(ended_at_first, late.ended);
}

TEST_F(PrepareCandidatesTest, OnlyTheCandidateThatTheStepNames) {
  StepProblem step = SoftmaxOf(64);
  step.implementation = NamesOf(First(step))[0];
  EXPECT_THAT(NamesOf(First(step)), ElementsAreArray({step.implementation}));
  step.implementation = "cudnn/none";
  EXPECT_THAT(First(step).candidates, IsEmpty());
}

}  // namespace
}  // namespace plait::cuda
