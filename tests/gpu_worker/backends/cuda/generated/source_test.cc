#include <map>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/backends/cuda/driver/kernel_cache.h"
#include "gpu_worker/backends/cuda/driver/kernel_libraries.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {

extern const CandidateSource kGeneratedSource;

namespace {

using Candidates = std::vector<std::unique_ptr<Candidate>>;

// Candidates of a device that the recording runtime stands for.
class GeneratedSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CompileToCubin("__global__ void f() {}", "sm_80").ok()) {
      GTEST_SKIP() << "libnvrtc.so.13 is not here";
    }
    device_ = DescribeH200();
    device_.present = true;
    device_.runtime = &runtime_;
  }

  Candidates List(const Problem& problem) {
    auto candidates = kGeneratedSource.enumerate(problem, Precision::kFp16, MemoryLayout::kNchw,
                                                 OperandPlaces(), device_);
    EXPECT_TRUE(candidates.ok()) << candidates.error().message;
    return candidates.ok() ? std::move(candidates).value() : Candidates();
  }

  RecordingRuntime runtime_;
  CudaDevice device_;
};

const ElementwiseProblem kRelu = {"relu(x0)", {64}, {{64}}};

TEST_F(GeneratedSourceTest, LoadsAndLaunchesWithTheRuntimeThatItWasGiven) {
  const Stream stream = runtime_.CreateStream(0).value();
  const Candidates candidates = List(kRelu);
  ASSERT_FALSE(candidates.empty());
  EXPECT_FALSE(candidates[0]->Launch({}, stream).ok()) << "not prepared";
  ASSERT_TRUE(candidates[0]->Prepare().ok());
  void* memory = runtime_.Allocate(256).value();
  const Operands operands{.inputs = {memory}, .outputs = {static_cast<std::byte*>(memory) + 128}};
  EXPECT_TRUE(candidates[0]->Launch(operands, stream).ok());
  EXPECT_EQ(runtime_.Count("LaunchKernel"), 1);
}

TEST_F(GeneratedSourceTest, PreparingTwiceLoadsOnce) {
  {
    const Candidates candidates = List(kRelu);
    ASSERT_FALSE(candidates.empty());
    ASSERT_TRUE(candidates[0]->Prepare().ok());
    ASSERT_TRUE(candidates[0]->Prepare().ok());
    EXPECT_EQ(runtime_.Count("LoadLibrary"), 1);
  }
  EXPECT_EQ(runtime_.Leaks(), std::vector<std::string>());
}

// Keeps code in memory, and counts.
class CountingCache : public KernelCache {
 public:
  std::optional<std::string> Find(const std::string& key) override {
    const auto kept = kept_.find(key);
    if (kept == kept_.end()) return std::nullopt;
    ++found;
    return kept->second;
  }
  void Keep(const std::vector<std::string>& keys, const std::string& code) override {
    for (const std::string& key : keys) kept_[key] = code;
  }

  size_t kept() const { return kept_.size(); }
  int found = 0;

 private:
  std::map<std::string, std::string> kept_;
};

TEST_F(GeneratedSourceTest, WhatACacheHasIsNotCompiledAgain) {
  CountingCache cache;
  device_.kernel_cache = &cache;
  ASSERT_TRUE(List(kRelu)[0]->Prepare().ok());
  EXPECT_EQ(cache.kept(), 1u);
  EXPECT_EQ(cache.found, 0);
  ASSERT_TRUE(List(kRelu)[0]->Prepare().ok());
  EXPECT_EQ(cache.kept(), 1u);
  EXPECT_EQ(cache.found, 1);
  EXPECT_EQ(runtime_.Count("LoadLibrary"), 2);
  // Another architecture, and another kernel, have code of their own.
  device_.sm_major = 8;
  ASSERT_TRUE(List(kRelu)[0]->Prepare().ok());
  EXPECT_EQ(cache.kept(), 2u);
  ASSERT_TRUE(List(ElementwiseProblem{"exp(x0)", {64}, {{64}}})[0]->Prepare().ok());
  EXPECT_EQ(cache.kept(), 3u);
  EXPECT_EQ(cache.found, 1);
}

// Of several problems; one program for all of them, which is loaded once.
TEST_F(GeneratedSourceTest, CandidatesThatArePreparedTogetherAreOneLibrary) {
  CountingCache cache;
  KernelLibraries libraries(&runtime_);
  device_.kernel_cache = &cache;
  device_.kernel_libraries = &libraries;
  const auto load_all = [&] {
    Candidates all = List(kRelu);
    for (const char* expression : {"exp(x0)", "tanh(x0)"}) {
      for (auto& candidate : List(ElementwiseProblem{expression, {64}, {{64}}})) {
        all.push_back(std::move(candidate));
      }
    }
    std::vector<Candidate*> pointers;
    for (const auto& candidate : all) pointers.push_back(candidate.get());
    kGeneratedSource.prepare_together(pointers);
    for (Candidate* candidate : pointers) EXPECT_TRUE(candidate->Prepare().ok());
    for (Candidate* candidate : pointers) {
      EXPECT_EQ(candidate->resources(), pointers[0]->resources());
    }
    return all;
  };
  {
    const Candidates all = load_all();
    EXPECT_EQ(cache.kept(), 3u);
    EXPECT_EQ(cache.found, 0);
    EXPECT_EQ(runtime_.Count("LoadLibrary"), 1);
    EXPECT_EQ(runtime_.Count("FindKernel"), 3);
    EXPECT_EQ(runtime_.Count("UnloadLibrary"), 0);
  }
  EXPECT_EQ(runtime_.Count("UnloadLibrary"), 1);
  load_all();
  EXPECT_EQ(cache.found, 3);
  EXPECT_EQ(runtime_.Count("LoadLibrary"), 2) << "nobody had it any more";
}

TEST_F(GeneratedSourceTest, AGraphOutlivesItsCandidate) {
  const Stream stream = runtime_.CreateStream(0).value();
  {
    Candidates candidates = List(kRelu);
    ASSERT_FALSE(candidates.empty());
    ASSERT_TRUE(candidates[0]->Prepare().ok());
    FlatGraphBuilder builder(&runtime_);
    builder.Keep(candidates[0]->resources());
    const Operands operands{.inputs = {nullptr}, .outputs = {nullptr}};
    const auto launch = [&](Stream s) { return candidates[0]->Launch(operands, s); };
    ASSERT_TRUE(builder.AddOperation("relu", launch).ok());
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    candidates.clear();
    EXPECT_EQ(runtime_.Count("UnloadLibrary"), 0);
    EXPECT_TRUE(graph.value().Launch(stream).ok());
  }
  ASSERT_TRUE(runtime_.DestroyStream(stream).ok());
  EXPECT_EQ(runtime_.refusals(), std::vector<std::string>());
  EXPECT_EQ(runtime_.Leaks(), std::vector<std::string>());
}

TEST_F(GeneratedSourceTest, AKernelThatIsNotFoundLeavesNothing) {
  const Candidates candidates = List(kRelu);
  ASSERT_FALSE(candidates.empty());
  runtime_.FailAfter(1, false);
  EXPECT_FALSE(candidates[0]->Prepare().ok());
  EXPECT_EQ(runtime_.Leaks(), std::vector<std::string>());
  EXPECT_TRUE(candidates[0]->Prepare().ok()) << "it may be tried again";
}

// Shorter vectors, where longer ones would leave multiprocessors without threads.
TEST_F(GeneratedSourceTest, SmallTensorsHaveShortVectors) {
  const ElementwiseProblem middle = {"relu(x0)", {1 << 18}, {{1 << 18}}};
  for (const auto& [problem, name] : {std::pair(kRelu, "generated/elementwise/v2"),
                                      std::pair(middle, "generated/elementwise/v4")}) {
    const Candidates candidates = List(problem);
    ASSERT_EQ(candidates.size(), 1u);
    EXPECT_EQ(candidates[0]->name(), name);
  }
}

// Vectors are as wide as the least aligned operand allows.
TEST_F(GeneratedSourceTest, VectorsAreNoWiderThanTheOperandsAlignment) {
  const ElementwiseProblem large = {"relu(x0)", {1 << 20}, {{1 << 20}}};
  const struct {
    int64_t alignment;
    const char* widest;
  } cases[] = {{256, "generated/elementwise/v8"},
               {16, "generated/elementwise/v8"},
               {8, "generated/elementwise/v4"},
               {2, "generated/elementwise/v1"}};
  for (const auto& c : cases) {
    const auto candidates =
        kGeneratedSource.enumerate(large, Precision::kFp16, MemoryLayout::kNchw,
                                   {.alignment = {.outputs = c.alignment}}, device_);
    ASSERT_TRUE(candidates.ok());
    EXPECT_EQ(candidates.value().front()->name(), c.widest) << c.alignment;
  }
  EXPECT_FALSE(kGeneratedSource
                   .enumerate(kRelu, Precision::kStrict, MemoryLayout::kNchw,
                              {.alignment = {.outputs = 2}}, device_)
                   .ok())
      << "less than an element";
}

TEST_F(GeneratedSourceTest, RefusesOperandsThatAreNotAlignedAsWasTold) {
  const Stream stream = runtime_.CreateStream(0).value();
  auto* memory = static_cast<std::byte*>(runtime_.Allocate(1024).value());
  const auto candidates = List(kRelu);
  ASSERT_TRUE(candidates[0]->Prepare().ok());
  EXPECT_FALSE(
      candidates[0]->Launch({.inputs = {memory + 4}, .outputs = {memory + 512}}, stream).ok());
  EXPECT_TRUE(
      candidates[0]->Launch({.inputs = {memory + 16}, .outputs = {memory + 512}}, stream).ok());
}

TEST_F(GeneratedSourceTest, APresentDeviceHasARuntime) {
  device_.runtime = nullptr;
  const auto candidates = kGeneratedSource.enumerate(kRelu, Precision::kFp16, MemoryLayout::kNchw,
                                                     OperandPlaces(), device_);
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.error().code, ErrorCode::kInvalid);
}

// 12 heads of 128 queries fill 132 multiprocessors with tiles of few queries alone; where there are
// eight, larger tiles read less.
TEST_F(GeneratedSourceTest, TilesOfAttentionAreRankedByTheDevice) {
  const Problem attention =
      AttentionProblem{.batch = 1, .heads = 12, .query = 128, .keys = 128, .dim = 64};
  const Candidates on_large = List(attention);
  device_.multiprocessors = 8;
  const Candidates on_small = List(attention);
  ASSERT_FALSE(on_large.empty() || on_small.empty());
  EXPECT_THAT(on_large[0]->name(), testing::HasSubstr("/q16/"));
  EXPECT_THAT(on_small[0]->name(), testing::HasSubstr("/q32/"));
}

}  // namespace
}  // namespace plait::cuda
