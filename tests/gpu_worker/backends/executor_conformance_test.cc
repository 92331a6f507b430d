#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"
#include "tests/gpu_worker/executor/simple_plan.h"
#include "tests/optimizer/ops/samples.h"

// What holds for every backend of backends.def: the samples of all operators run by a plan, and the
// results are those of the reference evaluation.
namespace plait {
namespace {

struct BackendSample {
  std::string backend;
  OperatorSample sample;
};

// Keeps GoogleTest from printing a sample as bytes.
std::ostream& operator<<(std::ostream& out, const BackendSample& sample) {
  return out << sample.backend << ": " << sample.sample.node;
}

std::vector<BackendSample> AllBackendSamples() {
  std::vector<BackendSample> all;
#define PLAIT_BACKEND(name, Name) \
  for (const OperatorSample& sample : OperatorSamples()) all.push_back({#name, sample});
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
  return all;
}

class ExecutorConformanceTest : public testing::TestWithParam<BackendSample>,
                                protected WithExecutor {
 protected:
  void SetUp() override { Open(GetParam().backend, 1); }
};

TEST_P(ExecutorConformanceTest, DescribesADeviceOfItsBackend) {
  const DeviceDescription& device = executor_->device();
  EXPECT_EQ(device.backend, GetParam().backend);
  EXPECT_GE(device.threads, 1);
  EXPECT_EQ(device.fingerprint.find(' '), std::string::npos) << "it is a name in listings";
  EXPECT_FALSE(device.fingerprint.empty());
}

TEST_P(ExecutorConformanceTest, OfferedKernelsAreOfAFamilyThatHasAVersion) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(GetParam().sample));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    const std::vector<Kernel> kernels = catalog_->KernelsAt(*graph, node, true);
    ASSERT_FALSE(kernels.empty());
    EXPECT_EQ(kernels.front().nodes, std::vector<NodeId>({node}));
    for (const Kernel& kernel : kernels) {
      EXPECT_FALSE(catalog_->Version(kernel.family).empty()) << kernel.family;
      EXPECT_LE(kernel.width, executor_->device().threads);
    }
  }
}

TEST_P(ExecutorConformanceTest, RunsTheSampleAsTheReferenceDoes) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(GetParam().sample));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Plan plan = SimplePlan(*graph, executor_->device(), *catalog_, {});
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(*graph, plan, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  OutputComparer comparer(1e-5);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(*graph, seed);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const absl::StatusOr<std::vector<Tensor>> expected =
        EvaluateGraph(*graph, *inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(*inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    comparer.Add(*expected, *actual);
  }
  const OutputComparison comparison = comparer.Result();
  EXPECT_NE(comparison.equivalence.verdict, Verdict::kDifferent) << comparison.reason;
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ExecutorConformanceTest,
                         testing::ValuesIn(AllBackendSamples()),
                         [](const testing::TestParamInfo<BackendSample>& info) {
                           return absl::StrCat(info.param.backend, info.param.sample.op,
                                               info.index);
                         });

}  // namespace
}  // namespace plait
