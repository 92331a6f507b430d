#include "server/search_child/job_catalog.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

DeviceDescription DeviceWith(const std::string& instruction_set) {
  DeviceDescription device;
  device.id = "cpu";
  device.backend = "cpu";
  device.instruction_set = instruction_set;
  device.threads = 1;
  return device;
}

v1::OptimizeOptions OptionsOf(const std::string& precision) {
  v1::OptimizeOptions options;
  options.set_precision(precision);
  return options;
}

std::unique_ptr<KernelCatalog> CatalogOf(const std::string& precision,
                                         const std::string& instruction_set) {
  auto catalog = JobCatalog(OptionsOf(precision), DeviceWith(instruction_set));
  EXPECT_TRUE(catalog.ok()) << catalog.status();
  return catalog.ok() ? *std::move(catalog) : nullptr;
}

// Of a product and a convolution, alone and with what follows.
std::set<std::string> Families(const std::string& precision, const std::string& instruction_set) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(R"(graph {
  input %x: float32[64,256]
  input %i: float32[1,64,28,28]
  const %w: float32[256,256] = synthetic 1
  const %f: float32[64,64,3,3] = synthetic 2
  %p = MatMul(%x, %w)
  %q = Relu(%p)
  %c = Conv(%i, %f) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %d = Relu(%c)
  output %q, %d
})");
  EXPECT_TRUE(graph.ok()) << graph.status();
  const std::unique_ptr<KernelCatalog> catalog = CatalogOf(precision, instruction_set);
  std::set<std::string> families;
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    for (const Kernel& kernel : catalog->KernelsAt(*graph, node, true)) {
      families.insert(kernel.family);
    }
  }
  return families;
}

TEST(JobCatalogTest, Bf16HasNothingInDigits) {
  for (const char* family : {"matmul_bf16", "conv_bf16"}) {
    EXPECT_THAT(Families("bf16", "amx"), Contains(family));
    EXPECT_THAT(Families("auto", "amx"), Contains(family));
  }
  for (const char* family : {"matmul_int8", "conv_int8"}) {
    EXPECT_THAT(Families("bf16", "amx"), Not(Contains(family)));
    EXPECT_THAT(Families("auto", "amx"), Contains(family));
    EXPECT_THAT(Families("strict", "amx"), Contains(family));
  }
}

DeviceDescription Gpu() {
  DeviceDescription device;
  device.id = "cuda:0";
  device.backend = "cuda";
  device.fingerprint = "cuda;_a_gpu";
  device.instruction_set = "sm_90";
  return device;
}

TEST(JobCatalogTest, Tf32HasNeitherDigitsNorBf16) {
  for (const char* family : {"matmul_bf16", "conv_bf16", "matmul_int8", "conv_int8"}) {
    EXPECT_THAT(Families("tf32", "amx"), Not(Contains(family)));
  }
}

TEST(JobCatalogTest, AGpuRoundsToTf32WhereItIsNotAskedForOthers) {
  const Kernel product = {.family = "matmul", .variant = "strict/auto", .nodes = {0}};
  for (const auto& [precision, rounds] : {std::pair("strict", true),
                                          {"auto", true},
                                          {"tf32", true},
                                          {"fp16", false},
                                          {"bf16", false}}) {
    auto catalog = JobCatalog(OptionsOf(precision), Gpu());
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    EXPECT_EQ((*catalog)->LessExact(product).has_value(), rounds) << precision;
  }
}

TEST(JobCatalogTest, AGpuHas16BitsForWhoNamesThem) {
  const Graph graph = *ParseTypedGraph(R"(graph {
  input %x: float32[4,8]
  const %w: float32[8,8] = synthetic 1
  %y = MatMul(%x, %w)
  output %y
})");
  for (const auto& [precision, form] : {std::pair("strict", "strict/auto"),
                                        {"auto", "strict/auto"},
                                        {"tf32", "strict/auto"},
                                        {"fp16", "fp16/auto"},
                                        {"bf16", "bf16/auto"}}) {
    auto catalog = JobCatalog(OptionsOf(precision), Gpu());
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    std::set<std::string> forms;
    for (const Kernel& kernel : (*catalog)->KernelsAt(graph, 0, true)) {
      if (!absl::StrContains(kernel.variant, "narrow")) forms.insert(kernel.variant);
    }
    EXPECT_EQ(forms, (std::set<std::string>{"strict/auto", form})) << precision;
    EXPECT_THAT(PrecisionWarnings(OptionsOf(precision), Gpu(), **catalog), IsEmpty());
  }
}

TEST(JobCatalogTest, SaysWhereBf16IsFp32) {
  const auto warnings = [](const std::string& precision, const std::string& instruction_set) {
    return PrecisionWarnings(OptionsOf(precision), DeviceWith(instruction_set),
                             *CatalogOf(precision, instruction_set));
  };
  EXPECT_THAT(warnings("bf16", "avx512_bf16"),
              ElementsAre("device cpu has no kernels in bf16, which take AMX (it has avx512_bf16): "
                          "all layers compute in fp32"));
  EXPECT_THAT(warnings("bf16", "amx"), IsEmpty());
  EXPECT_THAT(warnings("tf32", "amx"),
              ElementsAre("device cpu has no kernels in tf32, which take a GPU (it has amx): "
                          "all layers compute in fp32"));
  EXPECT_THAT(warnings("fp16", "amx"),
              ElementsAre("device cpu has no kernels in fp16, which take a GPU (it has amx): "
                          "all layers compute in fp32"));
  EXPECT_THAT(warnings("auto", "generic"), IsEmpty());
  EXPECT_THAT(warnings("strict", "generic"), IsEmpty());
}

}  // namespace
}  // namespace plait
