#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/loaded_bytes.h"
#include "tests/fakes/planned_graph.h"
#include "tests/fuzz/mutate_text.h"
#include "tests/gpu_worker/backends/kernel_case.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

// Texts of graphs and plans come from strangers' files and from processes that a stranger's model
// may have taken over. Whatever they say, they are refused or run within their buffers. Each
// execution changes a text that is right in a few places and loads what is left of it; it depends
// on its number alone, so that a failure repeats.
//
// PLAIT_FUZZ_EXECUTIONS says how many; a build with AddressSanitizer (the preset asan) sees writes
// that do no harm here.
namespace plait {
namespace {

constexpr int64_t kExecutionsDefault = 2000;
constexpr int kMutationsMax = 3;
// Larger graphs that would fit the machine are only parsed: loading draws their constants.
constexpr int64_t kLoadedBytesMax = int64_t{16} << 20;
constexpr int64_t kRunFlopsMax = 10'000'000;

int64_t Executions() {
  const char* const text = std::getenv("PLAIT_FUZZ_EXECUTIONS");
  int64_t executions = kExecutionsDefault;
  if (text != nullptr && !absl::SimpleAtoi(text, &executions)) {
    ADD_FAILURE() << "PLAIT_FUZZ_EXECUTIONS is no number: " << text;
  }
  return executions;
}

// A kernel that the backend offers, as a task names it.
struct KernelSeed {
  std::string graph_text;
  Kernel kernel;
};

// A whole graph with its plan, as a model carries them.
struct PlanSeed {
  std::string graph_text;
  std::string plan_text;
};

bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
         absl::IsUnimplemented(status) || absl::IsNotFound(status);
}

bool OnlyMovesElements(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (!HasTraits(node.op, kDataMovement) && !HasTraits(node.op, kView)) return false;
  }
  return true;
}

class HostileLoadTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    ExecutorFixture::SetUp();
    for (const FamilyOffer* family : CpuFamilies()) {
      const absl::StatusOr<std::vector<KernelCase>> cases = ReadKernelCases("cpu", family->name);
      ASSERT_TRUE(cases.ok()) << cases.status();
      for (const KernelCase& one : *cases) AddSeeds(ParseTyped(one.graph));
    }
    EXPECT_GT(parts_, 0);
  }

  void AddSeeds(const Graph& graph) {
    const SimplePlanOptions two_streams{.streams = 2,
                                        .stream_of = [](NodeId node) { return node % 2; }};
    plans_.push_back({PrintGraph(graph), PrintPlan(PlanOf(graph, two_streams))});
    AddSearchedPlan(graph);
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      for (Kernel kernel : catalog_->KernelsAt(graph, node, true)) {
        kernels_.push_back({PrintGraph(KernelGraph(graph, kernel.nodes)), std::move(kernel)});
      }
    }
  }

  // In channels-last where that can be, with fused kernels and parts.
  void AddSearchedPlan(const Graph& graph) {
    FakeProfiler profiler;
    profiler.channels_last_factor = 0.1;
    const std::vector<Plan> plans = PlansOf(graph, *catalog_, executor_->device(), profiler);
    ASSERT_FALSE(plans.empty());
    for (const Value& value : plans.front().values) parts_ += value.first_channel >= 0 ? 1 : 0;
    plans_.push_back({PrintGraph(graph), PrintPlan(plans.front())});
  }

  // Half of the graphs keep the types that their text declares, so that it is not the parser that
  // refuses them.
  static absl::StatusOr<Graph> ParseMutated(std::string text, Random* random) {
    const int64_t mutations = random->Integer(0, kMutationsMax);
    for (int64_t i = 0; i < mutations; ++i) text = MutateText(text, random);
    absl::StatusOr<Graph> graph =
        random->Integer(0, 1) == 0 ? ParseGraph(text) : ParseTypedGraph(text);
    EXPECT_TRUE(graph.ok() || absl::IsInvalidArgument(graph.status())) << graph.status();
    return graph;
  }

  void TryKernel(Random* random) {
    const KernelSeed& seed = kernels_[static_cast<size_t>(
        random->Integer(0, static_cast<int64_t>(kernels_.size()) - 1))];
    const absl::StatusOr<Graph> graph = ParseMutated(seed.graph_text, random);
    if (!graph.ok()) return;
    Kernel kernel = seed.kernel;
    kernel.nodes.clear();
    for (NodeId node = 0; node < graph->node_count(); ++node) kernel.nodes.push_back(node);
    if (random->Integer(0, 3) == 0) kernel.family = MutateText(kernel.family, random);
    if (random->Integer(0, 3) == 0) kernel.variant = MutateText(kernel.variant, random);
    for (std::vector<Format>* formats : {&kernel.input_formats, &kernel.output_formats}) {
      if (random->Integer(0, 3) == 0) formats->assign(formats->size(), Format::kChannelsLast);
    }
    Finish(*graph, LoadedBytes(*graph, Plan()),
           [&] { return executor_->LoadKernel(*graph, kernel, NoWeights()); });
  }

  // Fingerprints are made to fit again: whoever writes a plan can compute them.
  void TryPlan(Random* random) {
    const PlanSeed& seed =
        plans_[static_cast<size_t>(random->Integer(0, static_cast<int64_t>(plans_.size()) - 1))];
    const absl::StatusOr<Graph> graph = ParseMutated(seed.graph_text, random);
    std::string text = seed.plan_text;
    const int64_t mutations = random->Integer(0, kMutationsMax);
    for (int64_t i = 0; i < mutations; ++i) text = MutateText(text, random);
    absl::StatusOr<Plan> plan = ParsePlan(text);
    // A text of another version is none of this one's.
    EXPECT_TRUE(plan.ok() || absl::IsInvalidArgument(plan.status()) ||
                absl::IsUnimplemented(plan.status()))
        << plan.status();
    if (!graph.ok() || !plan.ok()) return;
    plan->graph_fingerprint = graph->fingerprint().ToString();
    plan->device_fingerprint = executor_->device().fingerprint;
    Finish(*graph, LoadedBytes(*graph, *plan),
           [&] { return executor_->Load(*graph, *plan, NoWeights()); });
  }

  template <typename Load>
  void Finish(const Graph& graph, int64_t bytes, const Load& load) {
    if (bytes > kLoadedBytesMax && bytes <= executor_->device().memory_bytes) return;
    const absl::StatusOr<std::unique_ptr<Executable>> executable = load();
    if (!executable.ok()) {
      ++refused_;
      EXPECT_TRUE(IsRefusal(executable.status())) << executable.status();
      return;
    }
    ++loaded_;
    int64_t flops = 0;
    int64_t tensor_bytes = 0;
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      flops = SaturatingAdd(flops, WorkOf(graph, node).flops);
    }
    for (const TensorInfo& tensor : graph.tensors()) {
      tensor_bytes = SaturatingAdd(tensor_bytes, tensor.type.bytes());
    }
    if (flops <= kRunFlopsMax && tensor_bytes <= kLoadedBytesMax) Run(graph, **executable);
  }

  // Kernels that copy by addresses of their own are compared with the reference, bit by bit.
  void Run(const Graph& graph, Executable& executable) {
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const absl::StatusOr<std::vector<Tensor>> outputs = executable.Run(*inputs);
    if (!outputs.ok()) {
      EXPECT_TRUE(IsRefusal(outputs.status())) << outputs.status();
      return;
    }
    ++run_;
    if (!OnlyMovesElements(graph)) return;
    const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, *inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(*outputs, *expected);
  }

  std::vector<KernelSeed> kernels_;
  std::vector<PlanSeed> plans_;
  int64_t parts_ = 0;  // values of plans_ that are parts of others
  int64_t refused_ = 0;
  int64_t loaded_ = 0;
  int64_t run_ = 0;
};

TEST_F(HostileLoadTest, MutatedTextsAreRefusedOrRunWithinTheirBuffers) {
  const int64_t executions = Executions();
  for (int64_t i = 0; i < executions; ++i) {
    SCOPED_TRACE(absl::StrCat("execution ", i));
    Random random(static_cast<uint64_t>(i));
    if (random.Integer(0, 1) == 0) {
      TryKernel(&random);
    } else {
      TryPlan(&random);
    }
  }
  // Both happen often, or the mutants test nothing.
  EXPECT_GT(refused_, executions / 20);
  EXPECT_GT(loaded_, executions / 10);
  EXPECT_GT(run_, executions / 20);
}

}  // namespace
}  // namespace plait
