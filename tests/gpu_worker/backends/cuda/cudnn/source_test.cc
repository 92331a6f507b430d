#include "gpu_worker/backends/cuda/cudnn/source.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/cudnn/candidate.h"
#include "gpu_worker/backends/cuda/cudnn/engines.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/cudnn/patterns.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "tests/files/source_path.h"
#include "tests/gpu_worker/backends/cuda/cudnn/test_cases.h"

namespace plait::cuda {
namespace {

using Candidates = std::vector<std::unique_ptr<Candidate>>;

constexpr Precision kPrecisions[] = {Precision::kStrict, Precision::kTf32, Precision::kFp16,
                                     Precision::kBf16};
constexpr MemoryLayout kLayouts[] = {MemoryLayout::kNchw, MemoryLayout::kNhwc};

std::string GoldenPath() {
  return SourcePath("tests/gpu_worker/backends/cuda/golden/candidates.txt");
}

// What cuDNN lists for a problem on an H200 that is not there.
Candidates List(const Problem& problem, Precision precision, MemoryLayout layout,
                const OperandPlaces& places = {}) {
  auto candidates = kCudnnSource.enumerate(problem, precision, layout, places, DescribeH200());
  EXPECT_TRUE(candidates.ok()) << candidates.error().message;
  return candidates.ok() ? std::move(candidates).value() : Candidates();
}

class CudnnCandidatesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(LoadAnyDriver(), ""); }
};

// "conv_bias_relu fp16 nhwc: 39 precompiled, 1 compiled at run time, 39 built", where the built
// ones are precompiled.
std::string Summary(const CudnnCase& known, Precision precision, MemoryLayout layout) {
  int precompiled = 0;
  int at_run_time = 0;
  int built = 0;
  for (const auto& candidate : List(known.problem, precision, layout)) {
    if (IsRuntimeCompiled(*candidate)) {
      ++at_run_time;
      continue;
    }
    ++precompiled;
    const Status status = candidate->Prepare();
    EXPECT_TRUE(status.ok()) << status.error().message;
    built += status.ok() ? 1 : 0;
  }
  std::ostringstream line;
  line << known.name << " " << PrecisionName(precision) << " " << LayoutName(layout) << ": "
       << precompiled << " precompiled, " << at_run_time << " compiled at run time, " << built
       << " built";
  return line.str();
}

// Images that are parts of others, as those of concatenations are, cost no engine that is compiled
// already. Only a residual has to lie as the output does.
TEST_F(CudnnCandidatesTest, ConvolutionsOfPartsHaveTheEnginesOfDenseOnes) {
  for (const char* name : {"conv", "conv_bias_relu", "conv_1x1_bias_relu",
                           "conv_residual_bias_relu", "conv_bias_relu6"}) {
    const Problem problem = CudnnCaseProblem(name);
    const auto& conv = std::get<ConvProblem>(problem);
    OperandPlaces parts;
    parts.pitches = {.inputs = {{conv.c, conv.c + 64}}, .outputs = {{conv.k, 2 * conv.k}}};
    for (const Precision precision : {Precision::kStrict, Precision::kTf32}) {
      const auto built = [&](const OperandPlaces& places) {
        int count = 0;
        for (const auto& candidate : List(problem, precision, MemoryLayout::kNhwc, places)) {
          count += !IsRuntimeCompiled(*candidate) && candidate->Prepare().ok() ? 1 : 0;
        }
        return count;
      };
      if (conv.residual) {
        parts.pitches.residual = {};
        EXPECT_EQ(built(parts), 0);
        parts.pitches.residual = parts.pitches.outputs[0];
      }
      EXPECT_GE(built(parts), 1) << name;
      EXPECT_EQ(built(parts), built({})) << name << " " << PrecisionName(precision);
    }
  }
  // Pools of parts are generated kernels.
  EXPECT_TRUE(List(CudnnCaseProblem("max_pool"), Precision::kStrict, MemoryLayout::kNhwc,
                   {.pitches = {.inputs = {{64, 128}}}})
                  .empty());
}

TEST_F(CudnnCandidatesTest, AreThoseOfTheGoldenFile) {
  const auto library = CudnnLibrary::Get();
  ASSERT_TRUE(library.ok()) << library.error().message;
  std::string actual = "cudnn " + library.value()->Version() + "\n";
  const std::string version_line = actual;
  for (const CudnnCase& known : CudnnCases()) {
    bool any = false;
    for (const Precision precision : kPrecisions) {
      for (const MemoryLayout layout : kLayouts) {
        if (!LayoutMatters(known.problem) && layout == MemoryLayout::kNhwc) continue;
        const std::string line = Summary(known, precision, layout);
        any = any || line.find(": 0 precompiled, 0 compiled") == std::string::npos;
        actual += line + "\n";
      }
    }
    // What cuDNN cannot do at all is listed too, as nothing.
    const bool is_known =
        BuildCudnnGraph(known.problem, Precision::kTf32, MemoryLayout::kNchw).has_value();
    EXPECT_EQ(any, is_known) << known.name;
  }
  if (std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GoldenPath()) << actual;
    return;
  }
  std::ifstream file(GoldenPath());
  ASSERT_TRUE(file) << GoldenPath();
  std::stringstream golden;
  golden << file.rdbuf();
  if (golden.str().substr(0, version_line.size()) != version_line) {
    std::cout << "The golden file is for another version than " << version_line
              << "checked only that every known pattern has candidates.\n";
    return;
  }
  EXPECT_EQ(actual, golden.str()) << "PLAIT_UPDATE_GOLDEN=1 writes the file";
}

TEST_F(CudnnCandidatesTest, AreListedOnceEach) {
  for (const char* name : {"conv", "conv_bias_relu", "depthwise", "matmul", "attention"}) {
    for (const Precision precision : kPrecisions) {
      std::set<std::string> names;
      for (const auto& candidate : List(CudnnCaseProblem(name), precision, MemoryLayout::kNhwc)) {
        EXPECT_TRUE(names.insert(candidate->name()).second) << candidate->name();
        EXPECT_EQ(candidate->name().find("cudnn/eng"), 0U);
      }
    }
  }
}

TEST_F(CudnnCandidatesTest, DuplicatesAreRemovedAndTheOrderStays) {
  const auto library = CudnnLibrary::Get();
  ASSERT_TRUE(library.ok());
  std::vector<CudnnEngineConfig> configs;
  for (const char* name : {"eng2/k1=0", "eng1", "eng2/k1=1", "eng1", "eng2/k1=0", "eng3"}) {
    configs.push_back(
        {CudnnDescriptor(*library.value(), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, name), name, {}});
  }
  RemoveDuplicateEngines(&configs);
  std::vector<std::string> names;
  for (const CudnnEngineConfig& config : configs) names.push_back(config.name);
  EXPECT_EQ(names, (std::vector<std::string>{"eng2/k1=0", "eng1", "eng2/k1=1", "eng3"}));
}

TEST_F(CudnnCandidatesTest, HaveTheSameNamesWhenAskedAgain) {
  for (const char* name : {"conv", "depthwise", "conv_bias_relu6", "max_pool", "attention"}) {
    SCOPED_TRACE(name);
    const auto names = [&] {
      std::vector<std::string> listed;
      for (const auto& candidate :
           List(CudnnCaseProblem(name), Precision::kTf32, MemoryLayout::kNhwc)) {
        listed.push_back(candidate->name());
      }
      return listed;
    };
    const std::vector<std::string> first = names();
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(first, names());
  }
}

TEST_F(CudnnCandidatesTest, StrictProductsUseNoTensorCores) {
  size_t strict_count = 0;
  size_t with_tensor_cores = 0;
  for (const CudnnCase& known : CudnnCases()) {
    const auto graph = BuildCudnnGraph(known.problem, Precision::kStrict, MemoryLayout::kNchw);
    if (!graph || !graph->HasProducts()) continue;
    for (const MemoryLayout layout : kLayouts) {
      for (const auto& candidate : List(known.problem, Precision::kStrict, layout)) {
        EXPECT_FALSE(HasNote(candidate->notes(), "tensor_core")) << candidate->name();
        EXPECT_FALSE(HasNote(candidate->notes(), "down_convert_inputs")) << candidate->name();
        ++strict_count;
      }
      for (const auto& candidate : List(known.problem, Precision::kTf32, layout)) {
        with_tensor_cores += HasNote(candidate->notes(), "tensor_core") ? 1 : 0;
      }
    }
  }
  EXPECT_GT(strict_count, 0U);
  EXPECT_GT(with_tensor_cores, 0U) << "the filter had something to remove";
}

TEST_F(CudnnCandidatesTest, ResidualFirstHasPrecompiledEngines) {
  const Problem problem = CudnnCaseProblem("conv_residual_bias_relu");
  int precompiled = 0;
  for (const auto& candidate : List(problem, Precision::kFp16, MemoryLayout::kNhwc)) {
    precompiled += IsRuntimeCompiled(*candidate) ? 0 : 1;
  }
  EXPECT_GT(precompiled, 10) << "in the other order there are none";
}

TEST_F(CudnnCandidatesTest, CompileAtRunTimeWithoutADevice) {
  for (const char* name : {"conv_bias_silu", "relu_conv", "matmul_bias_gelu",
                           "matmul_residual_bias", "batched_matmul", "attention", "attention_mask",
                           "attention_causal", "max_pool", "scale_shift_relu", "layer_norm"}) {
    SCOPED_TRACE(name);
    int built = 0;
    std::string failures;
    for (const auto& candidate :
         List(CudnnCaseProblem(name), Precision::kFp16, MemoryLayout::kNhwc)) {
      if (!IsRuntimeCompiled(*candidate)) continue;
      const Status status = candidate->Prepare();
      if (status.ok()) {
        ++built;
        break;  // each takes about half a second
      }
      failures += status.error().message + "\n";
    }
    EXPECT_EQ(built, 1) << failures;
  }
}

TEST_F(CudnnCandidatesTest, AreBuiltOnSeveralThreadsAtOnce) {
  Candidates candidates =
      List(CudnnCaseProblem("conv_bias_relu"), Precision::kBf16, MemoryLayout::kNhwc);
  for (auto& compiled : List(CudnnCaseProblem("matmul"), Precision::kBf16, MemoryLayout::kNchw)) {
    candidates.push_back(std::move(compiled));
  }
  std::atomic<size_t> next = 0;
  std::atomic<size_t> built = 0;
  const auto build = [&] {
    for (size_t i = next++; i < candidates.size(); i = next++) {
      if (candidates[i]->Prepare().ok()) ++built;
    }
  };
  std::thread other(build);
  build();
  other.join();
  EXPECT_EQ(built, candidates.size());
}

TEST_F(CudnnCandidatesTest, CannotBeLaunchedWithoutADevice) {
  const Candidates candidates =
      List(CudnnCaseProblem("conv"), Precision::kTf32, MemoryLayout::kNhwc);
  ASSERT_FALSE(candidates.empty());
  Candidate& candidate = *candidates.front();
  EXPECT_FALSE(candidate.Launch(Operands(), nullptr).ok()) << "not prepared";
  EXPECT_EQ(candidate.resources(), nullptr);
  ASSERT_TRUE(candidate.Prepare().ok());
  const std::shared_ptr<const void> plan = candidate.resources();
  EXPECT_NE(plan, nullptr) << "a graph has the plan to keep";
  ASSERT_TRUE(candidate.Prepare().ok());
  EXPECT_EQ(candidate.resources(), plan);
  const Status status = candidate.Launch(Operands(), nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace plait::cuda
