#include "gpu_worker/backends/cuda/driver/graph_builder.h"

#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

class GraphBuilderTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_ = runtime_.CreateStream(0).value();
    for (int i = 0; i < 4; ++i) {
      kernels_.push_back(runtime_.AddKernel("kernel" + std::to_string(i), 1 << i, 0, nullptr));
    }
  }

  // Everything is given back when the builder and its graphs are gone.
  void TearDown() override {
    ASSERT_TRUE(runtime_.DestroyStream(stream_).ok());
    EXPECT_EQ(runtime_.refusals(), std::vector<std::string>());
    EXPECT_EQ(runtime_.Leaks(), std::vector<std::string>());
  }

  std::function<Status(Stream)> Launch(std::vector<int> kernels) {
    return [this, kernels](Stream stream) -> Status {
      for (int kernel : kernels) {
        PLAIT_CUDA_RETURN_IF_ERROR(runtime_.LaunchKernel(kernels_[kernel], {}, nullptr, stream));
      }
      return Ok();
    };
  }

  double RunUs(const ExecutableGraph& graph) {
    const Event begin = runtime_.CreateEvent().value(), end = runtime_.CreateEvent().value();
    EXPECT_TRUE(runtime_.RecordEvent(begin, stream_).ok());
    EXPECT_TRUE(graph.Launch(stream_).ok());
    EXPECT_TRUE(runtime_.RecordEvent(end, stream_).ok());
    const double us = runtime_.ElapsedUs(begin, end).value();
    EXPECT_TRUE(runtime_.DestroyEvent(begin).ok());
    EXPECT_TRUE(runtime_.DestroyEvent(end).ok());
    return us;
  }

  RecordingRuntime runtime_;
  Stream stream_ = nullptr;
  std::vector<Kernel> kernels_;  // of 1, 2, 4 and 8 us
};

TEST_F(GraphBuilderTest, OperationsWithoutAnEdgeRunSideBySide) {
  FlatGraphBuilder builder(&runtime_);
  ASSERT_TRUE(builder.AddOperation("a", Launch({2})).ok());
  ASSERT_TRUE(builder.AddOperation("b", Launch({3})).ok());
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.value().nodes(), 2u);
  EXPECT_EQ(graph.value().edges(), 0u);
  EXPECT_EQ(RunUs(graph.value()), 8);
}

TEST_F(GraphBuilderTest, EdgesOrder) {
  FlatGraphBuilder builder(&runtime_);
  ASSERT_TRUE(builder.AddOperation("a", Launch({2})).ok());
  ASSERT_TRUE(builder.AddOperation("b", Launch({3})).ok());
  ASSERT_TRUE(builder.AddEdge(1, 0, EdgeReason::kMemoryReuse).ok());
  ASSERT_TRUE(builder.AddEdge(1, 0, EdgeReason::kData).ok());
  ASSERT_TRUE(builder.AddEdge(1, 0, EdgeReason::kData).ok());
  EXPECT_EQ(builder.edge_count(EdgeReason::kMemoryReuse), 1u);
  EXPECT_EQ(builder.edge_count(EdgeReason::kData), 1u);
  EXPECT_EQ(builder.edge_count(EdgeReason::kStreamOrder), 0u);
  EXPECT_EQ(RunUs(builder.Build().value()), 12);
}

TEST_F(GraphBuilderTest, AnOperationOfManyKernelsIsFlattened) {
  FlatGraphBuilder builder(&runtime_);
  ASSERT_TRUE(builder.AddOperation("a", Launch({0, 1, 2})).ok());
  ASSERT_TRUE(builder.AddOperation("b", Launch({3, 0})).ok());
  ASSERT_TRUE(builder.AddStreamOrder({0, 1}).ok());
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.value().nodes(), 5u);
  EXPECT_EQ(graph.value().edges(), 4u);
  EXPECT_EQ(RunUs(graph.value()), 1 + 2 + 4 + 8 + 1);
  const auto nodes = builder.Describe(0);
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes.value()[1].kernel, "kernel1");
}

TEST_F(GraphBuilderTest, AWideBarrierGoesThroughAnEmptyNode) {
  FlatGraphBuilder builder(&runtime_);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  ASSERT_TRUE(builder.AddStageBarrier({0, 1, 2}, {3, 4, 5}).ok());
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.value().nodes(), 7u);
  EXPECT_EQ(graph.value().edges(), 6u);
  EXPECT_EQ(RunUs(graph.value()), 4);
}

TEST_F(GraphBuilderTest, ANarrowBarrierNeedsNoNode) {
  FlatGraphBuilder builder(&runtime_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  ASSERT_TRUE(builder.AddStageBarrier({0, 1}, {2}).ok());
  EXPECT_EQ(builder.Build().value().nodes(), 3u);
}

TEST_F(GraphBuilderTest, AnEmptyOperationKeepsItsPlaceInTheOrder) {
  FlatGraphBuilder builder(&runtime_);
  ASSERT_TRUE(builder.AddOperation("a", Launch({2})).ok());
  ASSERT_TRUE(builder.AddOperation("nothing", Launch({})).ok());
  ASSERT_TRUE(builder.AddOperation("b", Launch({3})).ok());
  ASSERT_TRUE(builder.AddStreamOrder({0, 1, 2}).ok());
  EXPECT_EQ(RunUs(builder.Build().value()), 12);
}

constexpr EdgeData kProgrammatic{.from_port = 1, .to_port = 0, .type = 1};

TEST_F(GraphBuilderTest, TheStrongerEdgeWinsWhicheverComesFirst) {
  for (const bool weak_first : {true, false}) {
    FlatGraphBuilder builder(&runtime_);
    ASSERT_TRUE(builder.AddOperation("a", Launch({2})).ok());
    ASSERT_TRUE(builder.AddOperation("b", Launch({3})).ok());
    const EdgeData first = weak_first ? kProgrammatic : EdgeData{};
    const EdgeData second = weak_first ? EdgeData{} : kProgrammatic;
    ASSERT_TRUE(builder.AddEdge(0, 1, EdgeReason::kData, first).ok());
    ASSERT_TRUE(builder.AddEdge(0, 1, EdgeReason::kMemoryReuse, second).ok());
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph.value().edges(), 1u);
    EXPECT_EQ(runtime_.ProgrammaticEdges(), 0) << "weak first: " << weak_first;
  }
}

TEST_F(GraphBuilderTest, ProgrammaticEdgesJoinKernelsOnly) {
  void* memory = runtime_.Allocate(256).value();
  const auto fill = [&](Stream stream) { return runtime_.Fill(memory, 0, 256, stream); };
  {
    FlatGraphBuilder builder(&runtime_);
    ASSERT_TRUE(builder.AddOperation("fill", fill).ok());
    ASSERT_TRUE(builder.AddOperation("a", Launch({1})).ok());
    ASSERT_TRUE(builder.AddOperation("nothing", Launch({})).ok());
    ASSERT_TRUE(builder.AddOperation("b", Launch({1})).ok());
    ASSERT_TRUE(builder.AddEdge(0, 1, EdgeReason::kData, kProgrammatic).ok());
    ASSERT_TRUE(builder.AddEdge(1, 2, EdgeReason::kData, kProgrammatic).ok());
    ASSERT_TRUE(builder.AddEdge(1, 3, EdgeReason::kData, kProgrammatic).ok());
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(graph.value().edges(), 3u);
    EXPECT_EQ(runtime_.ProgrammaticEdges(), 1);
  }
  ASSERT_TRUE(runtime_.Free(memory).ok());
}

TEST_F(GraphBuilderTest, WhoWaitsByItselfBeginsEarlyBehindASingleKernel) {
  FlatGraphBuilder builder(&runtime_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  // 0 -> 1 -> 3 and 0 -> 2 -> 3, and 4 behind 3 and, which that implies, behind 0.
  for (const auto& [before, after] :
       std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {0, 4}}) {
    ASSERT_TRUE(builder.AddEdge(before, after, EdgeReason::kData).ok());
  }
  {
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(runtime_.ProgrammaticEdges(), 0);
  }
  for (const int operation : {1, 3, 4}) builder.LetBeginEarly(operation);
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.value().edges(), 5u);
  EXPECT_EQ(runtime_.ProgrammaticEdges(), 2) << "0 -> 1 and 3 -> 4; 3 is behind two";
}

TEST_F(GraphBuilderTest, NobodyBeginsEarlyBehindWhatIsNoKernel) {
  void* memory = runtime_.Allocate(256).value();
  FlatGraphBuilder builder(&runtime_);
  ASSERT_TRUE(builder
                  .AddOperation(
                      "fill", [&](Stream stream) { return runtime_.Fill(memory, 0, 256, stream); })
                  .ok());
  ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  ASSERT_TRUE(builder.AddEdge(0, 1, EdgeReason::kData).ok());
  builder.LetBeginEarly(1);
  {
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(runtime_.ProgrammaticEdges(), 0);
  }
  ASSERT_TRUE(runtime_.Free(memory).ok());
}

TEST_F(GraphBuilderTest, EdgesThatOthersImplyAreLeftOut) {
  FlatGraphBuilder builder(&runtime_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  for (int b = 0; b < 5; ++b) {
    for (int a = b + 1; a < 5; ++a) {
      ASSERT_TRUE(builder.AddEdge(b, a, EdgeReason::kMemoryReuse).ok());
    }
  }
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(builder.edge_count(EdgeReason::kMemoryReuse), 10u);
  EXPECT_EQ(graph.value().edges(), 4u);
  EXPECT_EQ(RunUs(graph.value()), 10);
}

TEST_F(GraphBuilderTest, AProgrammaticPathImpliesNothing) {
  FlatGraphBuilder builder(&runtime_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  ASSERT_TRUE(builder.AddEdge(0, 1, EdgeReason::kData, kProgrammatic).ok());
  ASSERT_TRUE(builder.AddEdge(1, 2, EdgeReason::kData).ok());
  ASSERT_TRUE(builder.AddEdge(0, 2, EdgeReason::kMemoryReuse).ok());
  EXPECT_EQ(builder.Build().value().edges(), 3u);
  // A full path makes the programmatic edge needless.
  ASSERT_TRUE(builder.AddOperation("op", Launch({1})).ok());
  ASSERT_TRUE(builder.AddStreamOrder({0, 3, 1}).ok());
  EXPECT_EQ(builder.Build().value().edges(), 3u) << "0-3, 3-1, 1-2";
}

TEST_F(GraphBuilderTest, RefusesCyclesAndUnknownOperations) {
  FlatGraphBuilder builder(&runtime_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(builder.AddOperation("op" + std::to_string(i), Launch({1})).ok());
  }
  EXPECT_FALSE(builder.AddEdge(0, 0, EdgeReason::kData).ok());
  EXPECT_FALSE(builder.AddEdge(0, 3, EdgeReason::kData).ok());
  EXPECT_FALSE(builder.AddEdge(-1, 0, EdgeReason::kData).ok());
  ASSERT_TRUE(builder.AddStreamOrder({0, 1, 2, 1}).ok());
  const auto graph = builder.Build();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kInvalid);
  EXPECT_NE(graph.error().message.find("op"), std::string::npos);
}

TEST_F(GraphBuilderTest, KernelsGetTheirOperationsPriority) {
  void* memory = runtime_.Allocate(256).value();
  {
    FlatGraphBuilder builder(&runtime_);
    ASSERT_TRUE(builder.AddOperation("a", Launch({0})).ok());
    const auto critical = [&](Stream stream) -> Status {
      PLAIT_CUDA_RETURN_IF_ERROR(runtime_.Fill(memory, 0, 256, stream));
      return Launch({1, 2})(stream);
    };
    ASSERT_TRUE(builder.AddOperation("b", critical).ok());
    builder.SetPriority(1, -2);
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(runtime_.Priorities(),
              (std::multimap<std::string, int>{{"kernel0", 0}, {"kernel1", -2}, {"kernel2", -2}}));
    EXPECT_TRUE(graph.value().Upload(stream_).ok());
    EXPECT_TRUE(graph.value().Launch(stream_).ok());
  }
  ASSERT_TRUE(runtime_.Free(memory).ok());
}

TEST_F(GraphBuilderTest, AGraphOutlivesItsBuilderAndWhatItWasToldToKeep) {
  auto memory = std::make_shared<OwnedMemory>(&runtime_, runtime_.Allocate(256).value());
  auto library = std::make_shared<OwnedLibrary>(&runtime_, runtime_.LoadLibrary("cubin").value());
  const Kernel kernel = runtime_.FindKernel(library->get(), "kernel").value();
  std::vector<ExecutableGraph> graphs;
  for (int i = 0; i < 2; ++i) {
    FlatGraphBuilder builder(&runtime_);
    const auto launch = [&](Stream stream) -> Status {
      PLAIT_CUDA_RETURN_IF_ERROR(runtime_.Fill(memory->get(), 0, 256, stream));
      return runtime_.LaunchKernel(kernel, {}, nullptr, stream);
    };
    ASSERT_TRUE(builder.AddOperation("a", launch).ok());
    builder.Keep(memory);
    builder.Keep(library);
    builder.Keep(nullptr);
    auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    graphs.push_back(std::move(graph).value());
  }
  memory.reset();
  library.reset();
  EXPECT_EQ(runtime_.Count("Free") + runtime_.Count("UnloadLibrary"), 0);
  EXPECT_TRUE(graphs[1].Launch(stream_).ok());
  graphs[0] = std::move(graphs[1]);  // the first one's graph is gone with the second
  graphs.pop_back();
  EXPECT_TRUE(graphs[0].Launch(stream_).ok());
  graphs.clear();
  EXPECT_EQ(runtime_.Count("Free"), 1);
  EXPECT_EQ(runtime_.Count("UnloadLibrary"), 1);
}

TEST_F(GraphBuilderTest, EveryCallMayFailAndNothingLeaks) {
  // A first run counts the calls; then each of them fails in turn.
  const auto build = [this](RecordingRuntime* runtime) -> Status {
    FlatGraphBuilder builder(runtime);
    const Kernel kernel = runtime->AddKernel("kernel", 1, 0, nullptr);
    for (int i = 0; i < 3; ++i) {
      const auto operation = builder.AddOperation(
          "op", [&](Stream stream) { return runtime->LaunchKernel(kernel, {}, nullptr, stream); });
      if (!operation.ok()) return operation.error();
    }
    PLAIT_CUDA_RETURN_IF_ERROR(builder.AddStreamOrder({0, 1, 2}));
    const auto graph = builder.Build();
    return graph.ok() ? Ok() : Status(graph.error());
  };
  RecordingRuntime counting;
  ASSERT_TRUE(build(&counting).ok());
  // The last calls are those that give back, whose failures nobody can be told.
  int gave_back = 0;
  for (const std::string& call : counting.calls()) gave_back += call.rfind("Destroy", 0) == 0;
  const int calls = static_cast<int>(counting.calls().size()) - gave_back;
  ASSERT_GT(calls, 10);
  for (int i = 0; i < calls; ++i) {
    RecordingRuntime failing;
    failing.FailAfter(i, false);
    EXPECT_FALSE(build(&failing).ok()) << "call " << i;
    EXPECT_EQ(failing.Leaks(), std::vector<std::string>()) << "call " << i;
  }
}

}  // namespace
}  // namespace plait::cuda
