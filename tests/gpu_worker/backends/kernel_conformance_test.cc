// Every kernel that the cpu catalog offers for a table of small graphs, in every variant, format
// and width, computes what the reference evaluation computes.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

struct GraphCase {
  const char* name;
  const char* text;
  // The largest group of nodes that a kernel must cover, so that a fused form is really offered.
  size_t fused_nodes = 1;
};

constexpr GraphCase kCases[] = {
#include "tests/gpu_worker/backends/kernel_cases.inc"
};

Graph Parse(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return graph.ok() ? *std::move(graph) : Graph();
}

std::string Describe(const Graph& graph, const Kernel& kernel) {
  std::vector<std::string> ops;
  for (const NodeId node : kernel.nodes) ops.emplace_back(OpKindName(graph.node(node).op));
  std::string text = absl::StrCat(kernel.family, " ", kernel.variant, " x", kernel.width, " ",
                                  absl::StrJoin(ops, "+"), " in");
  for (const Format format : kernel.input_formats) absl::StrAppend(&text, " ", FormatName(format));
  absl::StrAppend(&text, " out");
  for (const Format format : kernel.output_formats) absl::StrAppend(&text, " ", FormatName(format));
  return text;
}

Kernel OverWholeGraph(Kernel kernel) {
  for (size_t i = 0; i < kernel.nodes.size(); ++i) kernel.nodes[i] = static_cast<NodeId>(i);
  return kernel;
}

// Runs the kernel alone on seeded inputs, twice, because state left by the first run may not show.
void ExpectKernelIsRight(Executor* executor, const Graph& graph, const Kernel& kernel) {
  SCOPED_TRACE(Describe(graph, kernel));
  // A reorder has no nodes; its graph is its tensor.
  const Graph kernel_graph = kernel.nodes.empty() ? graph : KernelGraph(graph, kernel.nodes);
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor->LoadKernel(kernel_graph, OverWholeGraph(kernel), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  OutputComparer comparer(1e-5);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(kernel_graph, seed);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const absl::StatusOr<std::vector<Tensor>> expected =
        EvaluateGraph(kernel_graph, *inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(*inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    comparer.Add(*expected, *actual);
  }
  const OutputComparison comparison = comparer.Result();
  EXPECT_NE(comparison.equivalence.verdict, Verdict::kDifferent) << comparison.reason;
}

class KernelConformanceTest : public testing::TestWithParam<GraphCase> {
 protected:
  // Two threads even where the machine has one core: the kernels of both widths must be right.
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", 2);
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
    absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(executor_->device());
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    catalog_ = *std::move(catalog);
  }

  std::unique_ptr<Executor> executor_;
  std::unique_ptr<KernelCatalog> catalog_;
};

TEST_P(KernelConformanceTest, EveryOfferedKernelEqualsReference) {
  const Graph graph = Parse(GetParam().text);
  size_t fused_nodes = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const std::vector<Kernel> kernels = catalog_->KernelsAt(graph, node, true);
    ASSERT_FALSE(kernels.empty());
    EXPECT_EQ(kernels[0].nodes, std::vector<NodeId>({node}));
    for (const Kernel& kernel : kernels) {
      EXPECT_EQ(kernel.nodes[0], node);
      fused_nodes = std::max(fused_nodes, kernel.nodes.size());
      ExpectKernelIsRight(executor_.get(), graph, kernel);
    }
  }
  // 0: any.
  if (GetParam().fused_nodes > 0) {
    EXPECT_EQ(fused_nodes, GetParam().fused_nodes);
  }
}

TEST_P(KernelConformanceTest, OffersOneNodeKernelsOnlyWithoutFusion) {
  const Graph graph = Parse(GetParam().text);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog_->KernelsAt(graph, node, false)) {
      EXPECT_EQ(kernel.nodes.size(), 1u) << Describe(graph, kernel);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, KernelConformanceTest, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<GraphCase>& info) {
                           return std::string(info.param.name);
                         });

TEST(KernelFamiliesTest, TheTableCoversEveryFamily) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", 2);
  ASSERT_TRUE(executor.ok());
  const absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor((*executor)->device());
  ASSERT_TRUE(catalog.ok());
  std::set<std::string> seen = {"reorder"};  // has no node; ReorderTest covers it
  for (const GraphCase& graph_case : kCases) {
    const Graph graph = Parse(graph_case.text);
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      for (const Kernel& kernel : (*catalog)->KernelsAt(graph, node, true))
        seen.insert(kernel.family);
    }
  }
  std::set<std::string> families;
  for (const FamilyOffer* family : CpuFamilies()) families.emplace(family->name);
  EXPECT_EQ(seen, families);
}

TEST(ReorderTest, MovesElementsBetweenFormats) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", 2);
  ASSERT_TRUE(executor.ok());
  const absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor((*executor)->device());
  ASSERT_TRUE(catalog.ok());
  for (const char* type : {"float32[2,5,3,7]", "float32[1,64,32,32]", "int64[2,3,4,5]"}) {
    const Graph graph = Parse(absl::StrCat("graph {\n  input %i0: ", type, "\n  output %i0\n}\n"));
    for (const Format from : {Format::kPlain, Format::kChannelsLast}) {
      const Format to = from == Format::kPlain ? Format::kChannelsLast : Format::kPlain;
      const Kernel kernel = (*catalog)->Reorder(graph.type(graph.inputs()[0]), from, to);
      ExpectKernelIsRight(executor->get(), graph, kernel);
    }
  }
}

}  // namespace
}  // namespace plait
