#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/run/implementations.h"
#include "gpu_worker/backends/cuda/run/plan_memory.h"
#include "gpu_worker/executor/measure_plans.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "optimizer/kernels/lone_kernel.h"
#include "optimizer/plan/step_variants.h"
#include "tests/gpu_worker/backends/cuda/run/simulated_executor.h"

namespace plait::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using CudaPlansTest = SimulatedExecutorTest;

constexpr char kChain[] = R"(graph {
  input %x: float32[1,4,6,6]
  const %s: float32[1,4,1,1] = synthetic 1
  %a = Mul(%x, %s)
  %p = MaxPool(%a) {kernel_shape=[2,2], strides=[2,2]}
  %t = Transpose(%p) {perm=[0,2,3,1]}
  %n = Softmax(%t) {axis=-1}
  output %n
})";

// One of every family whose kernels are generated, and a pointwise convolution behind a depthwise
// one, which alone needs a library.
std::string Families(bool pointwise) {
  return absl::StrCat(R"(graph {
  input %x: float32[1,8,19,19]
  input %ids: int64[3]
  const %w: float32[8,1,3,3] = synthetic 1
  const %b: float32[8] = synthetic 2
  const %pw: float32[12,8,1,1] = synthetic 3
  const %scale: float32[8] = synthetic 4
  const %shift: float32[8] = synthetic 5
  const %mean: float32[8] = synthetic 6
  const %variance: float32[8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  const %table: float32[5,7] = synthetic 7
  const %ln: float32[7] = synthetic 8
  const %axes: int64[1] = [1]
  %d = Conv(%x, %w, %b) {group=8, pads=[1,1,1,1]}
  %e = Conv(%x, %w) {group=8}
  %r = Relu(%d)
)",
                      pointwise ? "  %q = Conv(%e, %pw)\n" : "  %q = Neg(%e)\n", R"(
  %m = BatchNormalization(%d, %scale, %shift, %mean, %variance)
  %k = MaxPool(%m) {kernel_shape=[3,3], strides=[2,2]}
  %v = AveragePool(%m) {kernel_shape=[3,3], strides=[2,2]}
  %c = Concat(%k, %v) {axis=1}
  %t = Transpose(%c) {perm=[0,3,1,2]}
  %g = Gather(%table, %ids)
  %l = LayerNormalization(%g, %ln) {axis=-1}
  %z = ReduceMean(%l, %axes) {keepdims=1}
  output %q, %r, %t, %z
})");
}

TEST_F(CudaPlansTest, RunsEveryFamily) {
  const plait::Graph graph = Parse(Families(/*pointwise=*/false));
  const auto executable =
      Load(graph, PlanOf(graph, {.streams = 4, .stream_of = [](NodeId node) { return node % 4; }}));
  ExpectEqualsReference(graph, executable.get());
  ASSERT_NE(executable, nullptr);
  EXPECT_EQ(executable->fallback_nodes(), 0);
  const std::vector<Tensor> inputs = InputsFor(graph);
  const auto first = executable->Run(inputs);
  ASSERT_TRUE(first.ok()) << first.status();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    driver_.SetSeed(seed);
    const auto again = executable->Run(inputs);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *first);
  }
}

// Every kernel that the catalog offers and generated kernels can run, in every format, alone.
TEST_F(CudaPlansTest, KernelsAloneGiveWhatTheirNodesSay) {
  const plait::Graph network = Parse(Families(/*pointwise=*/true));
  std::map<std::string, int> run;
  for (NodeId node = 0; node < network.node_count(); ++node) {
    for (plait::Kernel kernel : catalog_.KernelsAt(network, node, /*fuse=*/true)) {
      // Its constants are others in a graph of its own, and a variance is not negative.
      if (kernel.family == "scale_shift") continue;
      const plait::Graph graph = KernelGraph(network, kernel.nodes);
      for (size_t i = 0; i < kernel.nodes.size(); ++i) kernel.nodes[i] = static_cast<NodeId>(i);
      const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
      if (absl::IsUnimplemented(executable.status())) continue;
      ASSERT_TRUE(executable.ok()) << kernel.family << ": " << executable.status();
      ExpectEqualsReference(graph, executable->get());
      ++run[kernel.family];
    }
  }
  for (const char* family : {"conv", "separable", "elementwise", "rows", "pool", "move"}) {
    EXPECT_GE(run[family], 1) << family;
  }
}

// Named, a candidate alone may run a step: what a profile found is what a plan gets.
TEST_F(CudaPlansTest, RunsTheImplementationThatAPlanNames) {
  const plait::Graph graph = Parse(kChain);
  Plan plan = PlanOf(graph);
  ASSERT_EQ(plan.steps[3].kernel.family, "rows");
  plan.steps[3].kernel.variant = "strict/generated/rows/nothing";
  const absl::Status status = LoadStatus(graph, plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("step 3 (rows)"), HasSubstr("generated/rows/nothing")));
  const auto work = StepProblemOf(graph, plan, plan.steps[3]);
  ASSERT_TRUE(work.ok());
  StepProblem any = *work;
  any.implementation = "";
  const CudaDevice device = {.multiprocessors = 132};
  const auto answers = AskSources(any, device, false);
  ASSERT_TRUE(answers.back().candidates.ok());
  const auto& candidates = answers.back().candidates.value();
  ASSERT_GE(candidates.size(), 1u);
  plan.steps[3].kernel.variant = absl::StrCat("strict/", candidates.back()->name());
  ExpectEqualsReference(graph, Load(graph, plan).get());
}

// A depthwise convolution has no kernel on tensor cores: a plan in TF32 runs that of strict fp32.
TEST_F(CudaPlansTest, RunsAStrictKernelWhereThereIsNoneInTf32) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[1,8,12,12]
  const %w: float32[8,1,3,3] = synthetic 1
  %y = Conv(%x, %w) {group=8}
  output %y
})");
  plait::Kernel kernel = catalog_.KernelsAt(graph, 0, /*fuse=*/false).front();
  ASSERT_EQ(kernel.variant, kStrictForm);
  kernel.variant = std::string(kTf32Form);
  const auto open = executor_->LoadKernel(graph, kernel, NoWeights());
  ASSERT_TRUE(open.ok()) << open.status();
  ExpectEqualsReference(graph, open->get());
  kernel.variant = (*open)->step_variants()[0];
  EXPECT_THAT(kernel.variant, testing::StartsWith("tf32/generated/depthwise"));
  const auto named = executor_->LoadKernel(graph, kernel, NoWeights());
  ASSERT_TRUE(named.ok()) << named.status();
  ExpectEqualsReference(graph, named->get());
}

// What a plan left open and a device chose is what the plan gets when it is loaded again.
TEST_F(CudaPlansTest, NamesWhatItChose) {
  const plait::Graph graph = Parse(kChain);
  Plan plan = PlanOf(graph);
  const std::vector<std::string> variants = Load(graph, plan)->step_variants();
  ASSERT_EQ(variants.size(), plan.steps.size());
  for (const std::string& variant : variants) EXPECT_THAT(variant, HasSubstr("strict/generated/"));
  plan = WithStepVariants(plan, variants);
  EXPECT_EQ(plan.steps[3].kernel.variant, variants[3]);
  EXPECT_EQ(catalog_.OfferedVariant(plan.steps[3].kernel), "strict/auto");
  const auto again = Load(graph, plan);
  ExpectEqualsReference(graph, again.get());
  EXPECT_EQ(again->step_variants(), variants);
}

TEST_F(CudaPlansTest, NamesTheImplementationsOfAllParts) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[3,40]
  %a = Sigmoid(%x)
  %b = Mul(%a, %x)
  output %b
})");
  plait::Kernel kernel = catalog_.KernelsAt(graph, 0, /*fuse=*/true).back();
  ASSERT_EQ(kernel.nodes.size(), 2u);
  const auto whole = executor_->LoadKernel(graph, kernel, NoWeights());
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::string variant = (*whole)->step_variants()[0];
  const absl::string_view name = ImplementationOfForm(variant);
  kernel.variant = absl::StrCat("strict/parts:", name, "|", name);
  const auto parts = executor_->LoadKernel(graph, kernel, NoWeights());
  ASSERT_TRUE(parts.ok()) << parts.status();
  ExpectEqualsReference(graph, parts->get());
  EXPECT_EQ((*parts)->step_variants()[0], kernel.variant);
  for (const char* wrong : {"strict/parts:", "strict/parts:nothing|nothing"}) {
    kernel.variant = wrong;
    const auto refused = executor_->LoadKernel(graph, kernel, NoWeights());
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  }
  kernel.variant = absl::StrCat("strict/parts:", name, "|", name, "|", name);
  EXPECT_THAT(std::string(executor_->LoadKernel(graph, kernel, NoWeights()).status().message()),
              HasSubstr("it names 3 parts and has 2"));
}

// Without cuDNN and cuBLASLt a product has no kernel; who asks is told what is missing.
TEST_F(CudaPlansTest, NamesKernelAndLibraryThatAreMissing) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: float32[4,8]
  const %w: float32[8,6] = synthetic 1
  %y = MatMul(%x, %w)
  output %y
})");
  const absl::Status status = LoadStatus(graph, PlanOf(graph));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("step 0 (matmul)"), HasSubstr("gemm in strict"), HasSubstr("cudnn"),
                    HasSubstr("cublaslt")));
}

// A plan may come from anyone: each of these would read or write where it must not, or run what is
// not there.
TEST_F(CudaPlansTest, RefusesHostilePlans) {
  const plait::Graph graph = Parse(kChain);
  const Plan good = PlanOf(graph);
  ASSERT_TRUE(LoadStatus(graph, good).ok());
  const auto expect_refused = [&](const char* what, const auto& change) {
    Plan plan = good;
    change(&plan);
    EXPECT_EQ(LoadStatus(graph, plan).code(), absl::StatusCode::kInvalidArgument) << what;
  };
  expect_refused("other graph", [](Plan* plan) { plan->graph_fingerprint = "0"; });
  expect_refused("other device", [](Plan* plan) { plan->device_fingerprint = "toaster"; });
  expect_refused("too wide", [](Plan* plan) { plan->threads = 1 << 10; });
  expect_refused("outside", [](Plan* plan) { plan->arena_bytes = 64; });
  expect_refused("overlap", [](Plan* plan) {
    for (Value& value : plan->values) value.buffer.offset_bytes = 0;
  });
  expect_refused("family", [](Plan* plan) { plan->steps[1].kernel.family = "warp"; });
  expect_refused("pool as a mul", [](Plan* plan) { plan->steps[1].kernel.family = "elementwise"; });
  expect_refused("mul as a conv", [](Plan* plan) { plan->steps[0].kernel.family = "conv"; });
  expect_refused("mul as a view", [](Plan* plan) { plan->steps[0].kernel.family = "view"; });
  expect_refused("variant", [](Plan* plan) { plan->steps[0].kernel.variant = "fast"; });
  expect_refused("tf32", [](Plan* plan) { plan->steps[0].kernel.variant = "tf32/auto"; });
  expect_refused("no node", [](Plan* plan) { plan->steps[0].kernel.nodes.clear(); });
  expect_refused("missing step", [](Plan* plan) { plan->steps.pop_back(); });
}

// Without one of its waits a plan is refused, or others say the same, and then nothing races.
TEST_F(CudaPlansTest, EveryWaitIsNeededOrImplied) {
  const plait::Graph graph = Parse(Families(/*pointwise=*/false));
  const Plan good =
      PlanOf(graph, {.streams = 4, .stream_of = [](NodeId node) { return node % 4; }});
  int refused = 0, implied = 0;
  for (size_t step = 0; step < good.steps.size(); ++step) {
    for (size_t wait = 0; wait < good.steps[step].waits.size(); ++wait) {
      Plan plan = good;
      plan.steps[step].waits.erase(plan.steps[step].waits.begin() +
                                   static_cast<std::ptrdiff_t>(wait));
      auto loaded = executor_->Load(graph, plan, NoWeights());
      if (!loaded.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(loaded.status())) << loaded.status();
        ++refused;
        continue;
      }
      ++implied;
      ExpectEqualsReference(graph, loaded->get(), 1);
    }
  }
  EXPECT_GE(refused, 5);
  EXPECT_LE(implied, refused);
}

// Buffers of a plan that are as good as another plan's: places of its own are what counts.
TEST_F(CudaPlansTest, PlansTheArenaAnewAt256Bytes) {
  const plait::Graph graph = Parse(kChain);
  const Plan plan = PlanOf(graph);
  std::vector<StepProblem> work;
  for (const Step& step : plan.steps) work.push_back(*StepProblemOf(graph, plan, step));
  const auto order = OrderOfPlan(plan, work);
  ASSERT_TRUE(order.ok());
  const ArenaPlan arena = PlanArena(graph, plan, *order, {0, 100, 0, 300});
  EXPECT_EQ(arena.bytes % kDeviceAlignmentBytes, 0);
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const bool is_callers = plan.values[i].buffer.size_bytes == 0;
    EXPECT_EQ(arena.value_offsets_bytes[i] < 0, is_callers);
    if (!is_callers) {
      EXPECT_EQ(arena.value_offsets_bytes[i] % kDeviceAlignmentBytes, 0);
    }
  }
  EXPECT_EQ(arena.workspace_offsets_bytes[0], -1);
  EXPECT_GE(arena.workspace_offsets_bytes[1], 0);
  // A step's workspace is apart from what it reads and writes.
  const int written = plan.steps[1].outputs[0], read = plan.steps[1].inputs[0];
  for (const int value : {written, read}) {
    const int64_t begin = arena.value_offsets_bytes[value];
    const int64_t end = begin + graph.type(plan.values[value].tensor).bytes();
    const int64_t workspace = arena.workspace_offsets_bytes[1];
    EXPECT_TRUE(workspace + 100 <= begin || end <= workspace);
  }
}

TEST_F(CudaPlansTest, RefusesPlansOfTooManySteps) {
  Plan plan;
  plan.threads = 2;
  plan.steps.resize(kStepsMax + 1);
  const std::vector<StepProblem> work(plan.steps.size());
  EXPECT_EQ(OrderOfPlan(plan, work).status().code(), absl::StatusCode::kResourceExhausted);
}

// Nobody takes a prediction for a measurement: a kernel has no profile, and plans no latencies.
TEST_F(CudaPlansTest, MeasuresNothing) {
  const plait::Graph graph = Parse(kChain);
  const Plan plan = PlanOf(graph);
  const plait::Graph lone = KernelGraph(graph, {0});
  const KernelProfile profile =
      ProfileKernel(*executor_, {lone, plan.steps[0].kernel}, ProfileOptions());
  EXPECT_EQ(profile.profile.samples, 0);
  EXPECT_THAT(profile.error, HasSubstr("cuda:0 is simulated"));
  const auto measured = MeasurePlans(*executor_, {{&graph, &plan}, {&graph, &plan}}, NoWeights(),
                                     {.loads = 7, .rounds = 5});
  ASSERT_TRUE(measured.ok()) << measured.status();
  for (const auto& one : *measured) {
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_TRUE(one->latency_us.empty());
    EXPECT_EQ(one->load_ms.size(), 1u);
    EXPECT_EQ(one->equivalence.verdict, Verdict::kEquivalent);
  }
}

}  // namespace
}  // namespace plait::cuda
