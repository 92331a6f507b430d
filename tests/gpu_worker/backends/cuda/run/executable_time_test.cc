#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/one_kernel_plan.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/run/scripted_runtime.h"
#include "tests/gpu_worker/backends/cuda/run/timing_fixture.h"
#include "tests/gpu_worker/executor/simple_plan.h"

namespace plait::cuda {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using testing::SizeIs;

// Executables on a device that says what their kernels take.
class ExecutableTimeTest : public TimingTest<ScriptedRuntime> {
 protected:
  absl::StatusOr<std::unique_ptr<Executable>> Load(const plait::Graph& graph, const Plan& plan) {
    implementations_ = std::make_unique<Implementations>(
        device_, /*has_libraries=*/false, ChoiceBy::kFirst, stream_.get(), staging_.get(), &clock_);
    const DeviceParts parts = {.runtime = &runtime_,
                               .stream = stream_.get(),
                               .staging = staging_.get(),
                               .implementations = implementations_.get(),
                               .clock = &clock_,
                               .multiprocessors = kTimedMultiprocessors,
                               .graph_start_us = runtime_.us_of_start,
                               .evict = [this](Stream) {
                                 ++evictions_;
                                 runtime_.LeaveCold();
                                 return Ok();
                               }};
    PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                           CudaExecutable::Create(graph, plan, NoWeights(), parts));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                           MakeInputs(graph, /*seed=*/1, /*index=*/0));
    PLAIT_RETURN_IF_ERROR(executable->SetInputs(inputs));
    return executable;
  }

  // As profiles are taken of.
  absl::StatusOr<std::unique_ptr<Executable>> LoadLoneKernel() {
    PLAIT_ASSIGN_OR_RETURN(const plait::Graph graph, ParseTypedGraph(R"(graph {
  input %x: float32[64]
  %y = Neg(%x)
  output %y
})"));
    PLAIT_ASSIGN_OR_RETURN(const Plan plan,
                           OneKernelPlan(graph, catalog_.KernelsAt(graph, 0, /*fuse=*/false)[0]));
    return Load(graph, plan);
  }

  // A kernel of one block, and one of several that reads what the first has written.
  absl::StatusOr<std::unique_ptr<Executable>> LoadTwoSteps() {
    PLAIT_ASSIGN_OR_RETURN(const plait::Graph graph, ParseTypedGraph(R"(graph {
  input %x: float32[64]
  input %z: float32[1024,64]
  %a = Neg(%x)
  %y = Add(%a, %z)
  output %y
})"));
    return Load(graph, SimplePlan(graph, DeviceDescription(), catalog_, {}));
  }

  // In front of a span and behind it, in megahertz; the last one stays.
  std::vector<unsigned> clock_mhz_ = {1980};
  int evictions_ = 0;

 private:
  Result<ClockReading> ReadClock() {
    runtime_.Idle();
    const unsigned mhz = clock_mhz_.front();
    if (clock_mhz_.size() > 1) clock_mhz_.erase(clock_mhz_.begin());
    return ClockReading{.sm_mhz = mhz};
  }

  const CudaCatalog catalog_{{}};
  const CudaDevice device_ = {.present = true, .runtime = &runtime_};
  ClockWatch clock_{[this] { return ReadClock(); }};
  std::unique_ptr<Implementations> implementations_;
};

TEST_F(ExecutableTimeTest, ASpanTakesTwoMillisecondsHoweverShortTheKernelIs) {
  for (const double us : {0.4, 3.0, 250.0, 7000.0}) {
    runtime_.us_of_launch = us;
    const auto executable = LoadLoneKernel();
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto first = (*executable)->Time(1);
    ASSERT_TRUE(first.ok()) << first.status();
    runtime_.spans_us.clear();
    const auto times_us = (*executable)->Time(3);
    ASSERT_TRUE(times_us.ok()) << times_us.status();
    EXPECT_THAT(*times_us, Each(DoubleNear(us, 1e-6)));
    // Each sample is one span.
    EXPECT_THAT(runtime_.spans_us, SizeIs(3));
    EXPECT_THAT(runtime_.spans_us, Each(AllOf(Ge(2000), Le(std::max(4000.0, us)))));
  }
}

// A sample behind EvictCaches() is one run, of which the graph's start is taken off, and which the
// host does not keep waiting.
TEST_F(ExecutableTimeTest, ALoneKernelIsTimedOnceWithColdCachesAndManyTimesWithWarmOnes) {
  runtime_.us_of_launch = 250;
  runtime_.us_of_memory = 100;
  runtime_.us_of_start = 6;
  runtime_.us_of_host = 9;
  const auto executable = LoadLoneKernel();
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (int i = 0; i < 2; ++i) {
    (*executable)->EvictCaches();
    const auto times_us = (*executable)->Time(2);
    ASSERT_TRUE(times_us.ok()) << times_us.status();
    EXPECT_THAT(*times_us, ElementsAre(DoubleNear(350, 1e-6), DoubleNear(250, 3)));
    EXPECT_EQ(evictions_, i + 1);
  }
}

TEST_F(ExecutableTimeTest, CachesAreColdAgainWhereTheClockHasMoved) {
  runtime_.us_of_launch = 250;
  runtime_.us_of_memory = 100;
  const auto executable = LoadLoneKernel();
  ASSERT_TRUE(executable.ok()) << executable.status();
  clock_mhz_ = {1980, 1500};
  (*executable)->EvictCaches();
  const auto times_us = (*executable)->Time(1);
  ASSERT_TRUE(times_us.ok()) << times_us.status();
  EXPECT_THAT(*times_us, ElementsAre(DoubleNear(350, 1e-6)));
  EXPECT_EQ(evictions_, 2);
  EXPECT_EQ((*executable)->TakeClock(), (DeviceClock{1500, 1500, 1, 0, {}}));
  EXPECT_EQ((*executable)->TakeClock(), DeviceClock());
}

TEST_F(ExecutableTimeTest, APlanIsTimedInSpansOfTwoMilliseconds) {
  runtime_.us_of_wide_launch = 40;
  runtime_.us_of_memory = 100;
  runtime_.us_of_start = 6;
  for (const double us : {0.4, 30.0, 5000.0}) {
    runtime_.us_of_launch = us;
    const auto executable = LoadTwoSteps();
    ASSERT_TRUE(executable.ok()) << executable.status();
    runtime_.spans_us.clear();
    (*executable)->EvictCaches();
    const auto times_us = (*executable)->Time(3);
    ASSERT_TRUE(times_us.ok()) << times_us.status();
    const double run_us = 6 + us + 40;
    EXPECT_THAT(*times_us, ElementsAre(DoubleNear(run_us + 100, 1e-6), DoubleNear(run_us, 1e-6),
                                       DoubleNear(run_us, 1e-6)));
    // The cold one, one by which the runs of a span are counted, and two of so many.
    ASSERT_THAT(runtime_.spans_us, SizeIs(4));
    EXPECT_NEAR(runtime_.spans_us[0], run_us + 100, 1e-6);
    EXPECT_THAT(std::vector<double>(runtime_.spans_us.begin() + 2, runtime_.spans_us.end()),
                Each(AllOf(Ge(2000), Le(std::max(4000.0, run_us + 1)))));
  }
}

// As a lone kernel's cold sample: without the start of its graph, and without what the host takes
// to launch it, for the run in front keeps the device busy.
TEST_F(ExecutableTimeTest, StepsAreTimedWithoutWhatTheHostTakes) {
  runtime_.us_of_launch = 40;
  runtime_.us_of_wide_launch = 250;
  runtime_.us_of_start = 6;
  runtime_.us_of_host = 9;
  const auto executable = LoadTwoSteps();
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (int i = 0; i < 2; ++i) {
    const auto steps_us = (*executable)->TimeSteps();
    ASSERT_TRUE(steps_us.ok()) << steps_us.status();
    EXPECT_THAT(*steps_us, ElementsAre(DoubleNear(40, 1e-6), DoubleNear(250, 1e-6)));
  }
}

}  // namespace
}  // namespace plait::cuda
