#include "gpu_worker/backends/cuda/driver/nvrtc.h"

#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/simulated_gpu/ptxas_log.h"
#include "gpu_worker/backends/cuda/driver/dynamic_library.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::cuda {
namespace {

// The long run of this test is told the others.
std::vector<std::string> Architectures() {
  const char* const told = std::getenv("PLAIT_CUDA_ARCHITECTURES");
  std::istringstream names(told != nullptr ? told : "sm_90a");
  return {std::istream_iterator<std::string>(names), {}};
}

bool HasNvrtc() { return CompileToCubin("__global__ void f() {}", "sm_80").ok(); }

// All kernels of a family.
std::vector<GeneratedKernel> KernelsOf(const GeneratedFamily& family, Precision precision) {
  std::vector<GeneratedKernel> kernels;
  for (const GeneratedCase& c : GeneratedCases()) {
    for (MemoryLayout layout : {MemoryLayout::kNchw, MemoryLayout::kNhwc}) {
      if (layout == MemoryLayout::kNhwc && !LayoutMatters(c.problem)) continue;
      for (GeneratedKernel& kernel : family.generate(c.problem, precision, layout)) {
        kernels.push_back(std::move(kernel));
      }
    }
  }
  return kernels;
}

class GeneratedNvrtcTest
    : public testing::TestWithParam<std::tuple<const GeneratedFamily*, Precision>> {};

TEST_P(GeneratedNvrtcTest, CompilesForEveryArchitectureWithoutWarnings) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<GeneratedKernel> kernels = KernelsOf(*family, precision);
  ASSERT_GE(kernels.size(), 2u);
  std::vector<const GeneratedKernel*> all;
  for (const GeneratedKernel& kernel : kernels) all.push_back(&kernel);
  const std::string text = DeviceSource(all, precision);
  for (const std::string& architecture : Architectures()) {
    const Result<CubinWithLog> made = CompileToCubinWithLog(text, architecture);
    ASSERT_TRUE(made.ok()) << family->name << ": " << made.error().message;
    EXPECT_EQ(made.value().cubin.substr(1, 3), "ELF");
    EXPECT_EQ(WarningsOf(made.value().log), "") << architecture;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratedNvrtcTest, testing::ValuesIn(FamilyForms()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)->name) + "_" +
                                  PrecisionName(std::get<1>(info.param));
                         });

TEST(NvrtcTest, KeepsTheEntryName) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const GeneratedFamily& family = *GeneratedFamilies().front();
  for (const GeneratedCase& c : GeneratedCases()) {
    const auto kernels = family.generate(c.problem, Precision::kFp16, MemoryLayout::kNchw);
    if (kernels.empty()) continue;
    const Result<std::string> cubin =
        CompileToCubin(DeviceSource({kernels.data()}, Precision::kFp16), "sm_90a");
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    EXPECT_NE(cubin.value().find(".text." + EntryOf(kernels[0], Precision::kFp16)),
              std::string::npos);
    return;
  }
  FAIL() << "no case for " << family.name;
}

// By the key a cubin is kept: what it leaves out, two compilations would share.
TEST(NvrtcTest, AKeyHasAllThatCodeDependsOn) {
  const Result<std::string> version = NvrtcVersion();
  if (!version.ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const std::string source = "__global__ void f() {}";
  const std::string key = CompilationKey(source, "sm_90a").value();
  EXPECT_EQ(key, CompilationKey(source, "sm_90a").value());
  EXPECT_NE(key, CompilationKey(source, "sm_80").value());
  EXPECT_NE(key, CompilationKey(source + " ", "sm_90a").value());
  for (const std::string& part : {"nvrtc " + version.value(), std::string("--std=c++17"), source}) {
    EXPECT_NE(key.find(part), std::string::npos) << part;
  }
}

TEST(NvrtcTest, SaysWhatIsWrong) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const Result<std::string> cubin = CompileToCubin("__global__ void f() { undeclared; }", "sm_90a");
  ASSERT_FALSE(cubin.ok());
  EXPECT_NE(cubin.error().message.find("undeclared"), std::string::npos) << cubin.error().message;
}

}  // namespace
}  // namespace plait::cuda
