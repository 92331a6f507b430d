// Every kernel that the cpu catalog offers for a table of small graphs, in every variant, format
// and width, computes what the reference evaluation computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/instruction_set_names.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/kernel_case.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

// A case of a family's file.
struct GraphCase {
  std::string family;
  KernelCase kernel_case;

  // Names the case in gtest's messages.
  friend void PrintTo(const GraphCase& graph_case, std::ostream* out) {
    *out << graph_case.family << "/" << graph_case.kernel_case.name;
  }
};

// All cases of all families; what is missing or wrong, FamiliesTest finds.
std::vector<GraphCase> AllCases() {
  std::vector<GraphCase> all;
  for (const FamilyOffer* family : CpuFamilies()) {
    const absl::StatusOr<std::vector<KernelCase>> cases = ReadKernelCases("cpu", family->name);
    if (!cases.ok()) continue;
    for (const KernelCase& one : *cases) all.push_back({std::string(family->name), one});
  }
  return all;
}

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
void ExpectKernelIsRight(Executor* executor, const Graph& graph, const Kernel& kernel,
                         double rel_error_max = 1e-5) {
  SCOPED_TRACE(Describe(graph, kernel));
  // A reorder has no nodes; its graph is its tensor.
  const Graph kernel_graph = kernel.nodes.empty() ? graph : KernelGraph(graph, kernel.nodes);
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor->LoadKernel(kernel_graph, OverWholeGraph(kernel), NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  OutputComparer comparer(rel_error_max);
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(kernel_graph, 1, i);
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

std::unique_ptr<KernelCatalog> CatalogOfAllInstructions(DeviceDescription device) {
  device.instruction_set = std::string(std::end(kInstructionSetNames)[-1]);
  absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(device);
  EXPECT_TRUE(catalog.ok()) << catalog.status();
  return catalog.ok() ? *std::move(catalog) : nullptr;
}

class KernelConformanceTest : public testing::TestWithParam<GraphCase>, protected WithExecutor {
 protected:
  // Two threads even where the machine has one core: the kernels of both widths must be right. And
  // what is offered to processors with all instructions: whatever this one lacks is interpreted.
  void SetUp() override {
    Open("cpu", 2);
    catalog_ = CatalogOfAllInstructions(executor_->device());
  }

  using NextVariant = std::optional<std::string> (KernelCatalog::*)(const Kernel&) const;

  // With what may run in place of those of the case's family.
  std::vector<Kernel> WithVariants(std::vector<Kernel> kernels, NextVariant next) const {
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].family != GetParam().family) continue;
      std::optional<std::string> variant = (*catalog_.*next)(kernels[i]);
      if (!variant.has_value()) continue;
      Kernel kernel = kernels[i];
      kernel.variant = *std::move(variant);
      const bool is_known = std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
      if (!is_known) kernels.push_back(std::move(kernel));
    }
    return kernels;
  }
};

TEST_P(KernelConformanceTest, EveryOfferedKernelEqualsReference) {
  const Graph graph = Parse(GetParam().kernel_case.graph);
  int largest = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const std::vector<Kernel> offered = catalog_->KernelsAt(graph, node, true);
    ASSERT_FALSE(offered.empty());
    const std::vector<Kernel> kernels = WithVariants(offered, &KernelCatalog::MoreExact);
    EXPECT_EQ(kernels[0].nodes, std::vector<NodeId>({node}));
    for (const Kernel& kernel : kernels) {
      EXPECT_EQ(kernel.nodes[0], node);
      largest = std::max(largest, static_cast<int>(kernel.nodes.size()));
      ExpectKernelIsRight(executor_.get(), graph, kernel);
    }
    const std::vector<Kernel> rough = WithVariants(offered, &KernelCatalog::LessExact);
    for (size_t i = offered.size(); i < rough.size(); ++i) {
      // A single product of bf16 has eight bits.
      const double rel_error_max = rough[i].variant == "x1" ? 2e-2 : 1e-3;
      ExpectKernelIsRight(executor_.get(), graph, rough[i], rel_error_max);
    }
  }
  const int expected = GetParam().kernel_case.largest;
  if (expected > 0) {
    EXPECT_EQ(largest, expected);
  }
}

// What the first executable packed, the second one reads, and it stays when the first one goes.
TEST_P(KernelConformanceTest, KernelsComputeTheSameFromSharedWeights) {
  const Graph graph = Parse(GetParam().kernel_case.graph);
  const absl::StatusOr<std::unique_ptr<Executor>> sharing =
      OpenExecutor("cpu", {.threads = 2, .shares_weights = true, .shares_formats = true});
  ASSERT_TRUE(sharing.ok()) << sharing.status();
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog_->KernelsAt(graph, node, true)) {
      SCOPED_TRACE(Describe(graph, kernel));
      const Graph kernel_graph = KernelGraph(graph, kernel.nodes);
      const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(kernel_graph, 1, 0);
      ASSERT_TRUE(inputs.ok()) << inputs.status();
      std::vector<std::vector<Tensor>> outputs;
      std::unique_ptr<Executable> before;
      for (int i = 0; i < 3; ++i) {
        auto loaded = (*sharing)->LoadKernel(kernel_graph, OverWholeGraph(kernel), NoWeights());
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        before = *std::move(loaded);
        absl::StatusOr<std::vector<Tensor>> ran = before->Run(*inputs);
        ASSERT_TRUE(ran.ok()) << ran.status();
        outputs.push_back(*std::move(ran));
      }
      for (size_t i = 0; i < outputs[0].size(); ++i) {
        EXPECT_EQ(outputs[1][i].bytes(), outputs[0][i].bytes());
        EXPECT_EQ(outputs[2][i].bytes(), outputs[0][i].bytes());
      }
      EXPECT_EQ(dynamic_cast<const CpuExecutable&>(*before).own_weights_bytes(), 0);
    }
  }
}

TEST_P(KernelConformanceTest, OffersOneNodeKernelsOnlyWithoutFusion) {
  const Graph graph = Parse(GetParam().kernel_case.graph);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog_->KernelsAt(graph, node, false)) {
      EXPECT_EQ(kernel.nodes.size(), 1u) << Describe(graph, kernel);
    }
  }
}

TEST_P(KernelConformanceTest, EveryReorderMovesTheElementsOfInputs) {
  const Graph graph = Parse(GetParam().kernel_case.graph);
  for (const TensorId input : graph.inputs()) {
    const TensorType& type = graph.type(input);
    GraphBuilder builder;
    builder.AddOutput(builder.AddInput(type, "i0"));
    const absl::StatusOr<Graph> tensor = std::move(builder).Finish();
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    for (const Format from : kAllFormats) {
      for (const Format to : kAllFormats) {
        const bool both_apply =
            EffectiveFormat(type, from) == from && EffectiveFormat(type, to) == to;
        const bool both_are_there = IsStoredWhole(type, from) && IsStoredWhole(type, to);
        if (from == to || !both_apply || !both_are_there) continue;
        ExpectKernelIsRight(executor_.get(), *tensor, catalog_->Reorder(type, from, to));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, KernelConformanceTest, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<GraphCase>& info) {
                           return absl::StrCat(info.param.family, "_", info.param.kernel_case.name);
                         });

TEST(FamiliesTest, EachHasCasesInWhichTheBackendOffersIt) {
  DeviceDescription device;
  device.backend = "cpu";
  const std::unique_ptr<KernelCatalog> catalog = CatalogOfAllInstructions(device);
  for (const FamilyOffer* family : CpuFamilies()) {
    const absl::StatusOr<std::vector<KernelCase>> cases = ReadKernelCases("cpu", family->name);
    ASSERT_TRUE(cases.ok()) << cases.status();
    bool is_offered = false;
    for (const KernelCase& one : *cases) {
      const Graph graph = Parse(one.graph);
      const TensorType& type = graph.type(graph.inputs()[0]);
      const Kernel reorder = catalog->Reorder(type, Format::kPlain, Format::kChannelsLast);
      is_offered = is_offered || (graph.node_count() == 0 && reorder.family == family->name);
      for (NodeId node = 0; node < graph.node_count(); ++node) {
        for (const Kernel& kernel : catalog->KernelsAt(graph, node, true)) {
          is_offered = is_offered || kernel.family == family->name;
        }
      }
    }
    EXPECT_TRUE(is_offered) << "no kernel of family " << family->name << " in its cases";
  }
}

TEST(FamiliesTest, EachIsNamedAsItsLine) {
  std::vector<absl::string_view> names;
  for (const FamilyOffer* family : CpuFamilies()) names.push_back(family->name);
  const absl::string_view lines[] = {
#define PLAIT_CPU_FAMILY(name, Name) #name,
#include "gpu_worker/backends/cpu/families.def"
#undef PLAIT_CPU_FAMILY
  };
  EXPECT_THAT(names, testing::ElementsAreArray(lines));
}

}  // namespace
}  // namespace plait
