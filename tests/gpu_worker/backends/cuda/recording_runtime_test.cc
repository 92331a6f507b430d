#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

#include <cstring>

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

TEST(RecordingRuntimeTest, RefusesWhatTheRealOneWould) {
  RecordingRuntime runtime;
  const Stream stream = runtime.CreateStream(0).value();
  const Stream other = runtime.CreateStream(0).value();
  const Event event = runtime.CreateEvent().value();
  void* memory = runtime.Allocate(100).value();
  EXPECT_FALSE(runtime.Fill(memory, 0, 101, stream).ok());
  EXPECT_TRUE(runtime.Fill(memory, 0, 100, stream).ok());
  EXPECT_FALSE(runtime.ElapsedUs(event, event).ok());
  ASSERT_TRUE(runtime.BeginCapture(stream).ok());
  EXPECT_FALSE(runtime.BeginCapture(stream).ok());
  EXPECT_FALSE(runtime.Synchronize(stream).ok());
  // A stream that joins a capture has to be joined again.
  ASSERT_TRUE(runtime.RecordEvent(event, stream).ok());
  ASSERT_TRUE(runtime.WaitForEvent(other, event).ok());
  ASSERT_TRUE(runtime.Fill(memory, 0, 8, other).ok());
  EXPECT_FALSE(runtime.EndCapture(stream).ok());
  EXPECT_FALSE(runtime.EndCapture(stream).ok());
  EXPECT_TRUE(runtime.Free(memory).ok());
  EXPECT_FALSE(runtime.Free(memory).ok());
  EXPECT_FALSE(runtime.Fill(memory, 0, 1, stream).ok());
}

// Two streams, an event, a buffer, and a kernel that reads the first 64 bytes of what it is given.
class RecordingOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_ = runtime_.CreateStream(0).value();
    other_ = runtime_.CreateStream(0).value();
    event_ = runtime_.CreateEvent().value();
    memory_ = static_cast<std::byte*>(runtime_.Allocate(256).value());
    host_ = static_cast<std::byte*>(runtime_.AllocateHost(256).value());
    std::memset(host_, 1, 256);
    reader_ = runtime_.AddKernel("reader", 1, 1, nullptr, [](void** arguments) {
      const auto* from = *static_cast<const std::byte**>(arguments[0]);
      return std::vector<MemoryAccess>{{from, 64, false}};
    });
  }

  Status Read(const std::byte* from, Stream stream) {
    void* arguments[] = {&from};
    return runtime_.LaunchKernel(reader_, {}, arguments, stream);
  }

  RecordingRuntime runtime_;
  Stream stream_ = nullptr, other_ = nullptr;
  Event event_ = nullptr;
  std::byte *memory_ = nullptr, *host_ = nullptr;
  Kernel reader_ = nullptr;
};

TEST_F(RecordingOrderTest, AStreamOrdersItsOwnCopiesAndLaunches) {
  ASSERT_TRUE(runtime_.CopyToDevice(memory_, host_, 256, stream_).ok());
  EXPECT_TRUE(Read(memory_, stream_).ok());
  EXPECT_TRUE(runtime_.Fill(memory_, 0, 256, stream_).ok());
}

TEST_F(RecordingOrderTest, ACopyOnAnotherStreamIsCaught) {
  ASSERT_TRUE(runtime_.CopyToDevice(memory_, host_, 256, other_).ok());
  const Status read = Read(memory_, stream_);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("CopyToDevice"), std::string::npos) << read.error().message;
  EXPECT_EQ(runtime_.refusals().size(), 1u);
}

TEST_F(RecordingOrderTest, AnEventOrWaitingForTheStreamOrders) {
  ASSERT_TRUE(runtime_.CopyToDevice(memory_, host_, 128, other_).ok());
  ASSERT_TRUE(runtime_.RecordEvent(event_, other_).ok());
  ASSERT_TRUE(runtime_.CopyToDevice(memory_ + 128, host_, 128, other_).ok());
  ASSERT_TRUE(runtime_.WaitForEvent(stream_, event_).ok());
  EXPECT_TRUE(Read(memory_, stream_).ok());
  EXPECT_FALSE(Read(memory_ + 128, stream_).ok()) << "it was copied behind the event";
  ASSERT_TRUE(runtime_.Synchronize(stream_).ok());
  EXPECT_FALSE(Read(memory_ + 128, stream_).ok()) << "the host waited for the wrong stream";
  ASSERT_TRUE(runtime_.Synchronize(other_).ok());
  EXPECT_TRUE(Read(memory_ + 128, stream_).ok());
}

TEST_F(RecordingOrderTest, WritingWhatAnotherStreamReadsIsCaught) {
  ASSERT_TRUE(Read(memory_, other_).ok());
  EXPECT_TRUE(Read(memory_, stream_).ok()) << "two readers need no order";
  EXPECT_TRUE(runtime_.Fill(memory_ + 64, 0, 64, stream_).ok());
  EXPECT_FALSE(runtime_.Fill(memory_, 0, 1, stream_).ok());
}

TEST_F(RecordingOrderTest, AGraphCountsWithAllThatItsNodesTouch) {
  ASSERT_TRUE(runtime_.BeginCapture(stream_).ok());
  ASSERT_TRUE(Read(memory_, stream_).ok());
  const Graph graph = runtime_.EndCapture(stream_).value();
  const GraphExec exec = runtime_.Instantiate(graph).value();
  ASSERT_TRUE(runtime_.CopyToDevice(memory_, host_, 256, other_).ok());
  EXPECT_FALSE(runtime_.LaunchGraph(exec, stream_).ok());
  EXPECT_TRUE(runtime_.LaunchGraph(exec, other_).ok());
}

TEST_F(RecordingOrderTest, TheHostSeesACopyWhenItHasWaited) {
  ASSERT_TRUE(runtime_.Fill(memory_, 7, 256, stream_).ok());
  ASSERT_TRUE(runtime_.CopyToHost(host_, memory_, 256, stream_).ok());
  EXPECT_NE(host_[3], std::byte{7});
  ASSERT_TRUE(runtime_.Synchronize(stream_).ok());
  EXPECT_EQ(host_[3], std::byte{7});
}

TEST_F(RecordingOrderTest, TheHostMustNotChangeWhatIsBeingCopied) {
  ASSERT_TRUE(runtime_.CopyToDevice(memory_, host_, 256, stream_).ok());
  host_[0] = std::byte{2};
  EXPECT_FALSE(runtime_.Synchronize(stream_).ok());
}

TEST_F(RecordingOrderTest, OnlyPinnedMemoryIsCopied) {
  char pageable[8] = {};
  EXPECT_FALSE(runtime_.CopyToDevice(memory_, pageable, 8, stream_).ok());
  EXPECT_FALSE(runtime_.CopyToHost(pageable, memory_, 8, stream_).ok());
  EXPECT_FALSE(runtime_.CopyToDevice(memory_, host_, 257, stream_).ok());
  EXPECT_FALSE(runtime_.CopyToDevice(memory_, host_, 8, nullptr).ok());
}

// What no test of ours does on purpose, and a destructor may do without telling anyone.
TEST(RecordingLifetimeTest, WhatAnExecutableGraphUsesIsNotGivenBack) {
  RecordingRuntime runtime;
  const Stream stream = runtime.CreateStream(0).value();
  void* memory = runtime.Allocate(256).value();
  const Library library = runtime.LoadLibrary("cubin").value();
  const Kernel kernel = runtime.FindKernel(library, "kernel").value();
  ASSERT_TRUE(runtime.BeginCapture(stream).ok());
  ASSERT_TRUE(runtime.Fill(memory, 0, 256, stream).ok());
  ASSERT_TRUE(runtime.LaunchKernel(kernel, {}, nullptr, stream).ok());
  const Graph captured = runtime.EndCapture(stream).value();
  const Graph copy = runtime.CreateGraph().value();
  const std::vector<GraphNode> nodes = runtime.Nodes(captured).value();
  for (GraphNode node : nodes) ASSERT_TRUE(runtime.CopyNode(copy, node).ok());
  const GraphExec exec = runtime.Instantiate(copy).value();
  EXPECT_TRUE(runtime.DestroyGraph(copy).ok()) << "what was instantiated stands by itself";
  EXPECT_FALSE(runtime.DestroyGraph(captured).ok());
  EXPECT_FALSE(runtime.UnloadLibrary(library).ok());
  EXPECT_FALSE(runtime.Free(memory).ok());
  EXPECT_EQ(runtime.refusals().size(), 3u);
  EXPECT_TRUE(runtime.DestroyExec(exec).ok());
}

}  // namespace
}  // namespace plait::cuda
