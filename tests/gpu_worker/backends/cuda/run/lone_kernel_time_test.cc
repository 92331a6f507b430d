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

namespace plait::cuda {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::Ge;
using testing::Le;
using testing::SizeIs;

// Executables of one kernel, as profiles are taken of, on a device that says what they take.
class LoneKernelTimeTest : public TimingTest<ScriptedRuntime> {
 protected:
  absl::StatusOr<std::unique_ptr<Executable>> Load() {
    PLAIT_ASSIGN_OR_RETURN(const plait::Graph graph, ParseTypedGraph(R"(graph {
  input %x: float32[64]
  %y = Neg(%x)
  output %y
})"));
    const CudaCatalog catalog({});
    PLAIT_ASSIGN_OR_RETURN(const Plan plan,
                           OneKernelPlan(graph, catalog.KernelsAt(graph, 0, /*fuse=*/false)[0]));
    implementations_ = std::make_unique<Implementations>(
        device_, /*has_libraries=*/false, ChoiceBy::kFirst, stream_.get(), staging_.get(), &clock_);
    PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                           CudaExecutable::Create(graph, plan, NoWeights(),
                                                  {.runtime = &runtime_,
                                                   .stream = stream_.get(),
                                                   .staging = staging_.get(),
                                                   .implementations = implementations_.get(),
                                                   .clock = &clock_,
                                                   .multiprocessors = kTimedMultiprocessors}));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                           MakeInputs(graph, /*seed=*/1, /*index=*/0));
    PLAIT_RETURN_IF_ERROR(executable->SetInputs(inputs));
    return executable;
  }

  const CudaDevice device_ = {.present = true, .runtime = &runtime_};
  ClockWatch clock_{nullptr};
  std::unique_ptr<Implementations> implementations_;
};

TEST_F(LoneKernelTimeTest, ASpanTakesTwoMillisecondsHoweverShortTheKernelIs) {
  for (const double us : {0.4, 3.0, 250.0, 7000.0}) {
    runtime_.us_of_launch = us;
    const auto executable = Load();
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

}  // namespace
}  // namespace plait::cuda
