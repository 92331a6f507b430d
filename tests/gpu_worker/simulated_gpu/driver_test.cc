#include <array>
#include <cstring>

#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/driver_fixture.h"

// The functions of the simulated driver, called as the manual "CUDA Driver API" states them.

namespace plait::simulated_gpu {
namespace {

// A driver with the context of its first device current, two streams and memory.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuda_.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
    for (CUstream* stream : {&a_, &b_}) {
      ASSERT_EQ(cuda_.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    }
    for (CUdeviceptr* memory : {&x_, &y_, &z_}) {
      ASSERT_EQ(cuda_.cuMemAlloc(memory, 256), CUDA_SUCCESS);
    }
    ASSERT_EQ(cuda_.cuEventCreate(&event_, 0), CUDA_SUCCESS);
    void* host = nullptr;
    ASSERT_EQ(cuda_.cuMemHostAlloc(&host, 256, 0), CUDA_SUCCESS);
    host_ = static_cast<unsigned char*>(host);
  }

  CUkernel Kernel(const std::string& text, const char* name) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    EXPECT_EQ(Load(text, &library), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuLibraryGetKernel(&kernel, library, name), CUDA_SUCCESS);
    return kernel;
  }
  CUresult Load(const std::string& text, CUlibrary* library) {
    return cuda_.cuLibraryLoadData(library, text.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  CUresult Launch(CUkernel kernel, CUstream stream, std::vector<CUdeviceptr> arguments,
                  unsigned threads = 32) {
    std::vector<void*> pointers;
    for (CUdeviceptr& argument : arguments) pointers.push_back(&argument);
    return cuda_.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 2, 1, 1, threads, 1, 1, 0,
                                stream, pointers.data(), nullptr);
  }
  CUresult Fill(CUdeviceptr to, unsigned char byte, CUstream stream) {
    return cuda_.cuMemsetD8Async(to, byte, 256, stream);
  }
  CUresult Get(CUdeviceptr from, CUstream stream) {
    return cuda_.cuMemcpyDtoHAsync(host_, from, 256, stream);
  }
  // One violation, which has these words.
  void ExpectViolation(std::vector<std::string> words) {
    const std::vector<std::string> violations = driver_.violations();
    ASSERT_EQ(violations.size(), 1u);
    for (const std::string& word : words) {
      EXPECT_NE(violations[0].find(word), std::string::npos) << word << ": " << violations[0];
    }
  }

  SimulatedDriver driver_;
  const cuda::DriverLibrary& cuda_ = driver_.library();
  CUcontext context_ = nullptr;
  CUstream a_ = nullptr, b_ = nullptr;
  CUdeviceptr x_ = 0, y_ = 0, z_ = 0;
  CUevent event_ = nullptr;
  unsigned char* host_ = nullptr;
};

TEST(DriverBeforeInitTest, NothingGoesWithoutInitAndContext) {
  SimulatedDriver driver;
  const cuda::DriverLibrary& cuda = driver.library();
  int count = 0;
  CUdeviceptr memory = 0;
  CUcontext context = nullptr;
  EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuda.cuMemAlloc(&memory, 1), CUDA_ERROR_NOT_INITIALIZED);
  ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuMemAlloc(&memory, 1), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuMemAlloc(&memory, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuMemAlloc(&memory, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverTest, HasTwoDevices) {
  int count = 0, major = 0;
  CUdevice device = 0;
  std::array<char, 8> name = {};
  ASSERT_EQ(cuda_.cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cuda_.cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuda_.cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(cuda_.cuDeviceGet(&device, 1), CUDA_SUCCESS);
  ASSERT_EQ(
      cuda_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
      CUDA_SUCCESS);
  EXPECT_EQ(major, 8);
  ASSERT_EQ(cuda_.cuDeviceGetName(name.data(), 8, device), CUDA_SUCCESS);
  EXPECT_STREQ(name.data(), "simulat") << "as much as fits";
}

// Another device's context has other memory, streams and errors.
TEST_F(DriverTest, DevicesShareNothing) {
  CUcontext other = nullptr;
  ASSERT_EQ(cuda_.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuCtxSetCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda_.cuMemFree(x_), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuda_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(Launch(Kernel(KernelsOfTests(), "beyond"), a_, {x_}), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(cuda_.cuCtxSetCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(DriverTest, ErrorsHaveNames) {
  const char *name = nullptr, *words = nullptr;
  ASSERT_EQ(cuda_.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name), CUDA_SUCCESS);
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  ASSERT_EQ(cuda_.cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &words), CUDA_SUCCESS);
  EXPECT_STREQ(words, "an illegal memory access");
  EXPECT_EQ(cuda_.cuGetErrorName(static_cast<CUresult>(12345), &name), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(name, nullptr);
}

TEST_F(DriverTest, WhatIsEnqueuedHappensWhenTheHostWaits) {
  ASSERT_EQ(Fill(x_, 7, a_), CUDA_SUCCESS);
  ASSERT_EQ(Get(x_, a_), CUDA_SUCCESS);
  EXPECT_NE(host_[0], 7);
  ASSERT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_SUCCESS);
  EXPECT_EQ(host_[255], 7);
}

TEST_F(DriverTest, PageableMemoryIsTakenAtOnceAndFilledAtOnce) {
  std::array<unsigned char, 256> bytes = {};
  bytes.fill(9);
  ASSERT_EQ(cuda_.cuMemcpyHtoDAsync(x_, bytes.data(), 256, a_), CUDA_SUCCESS);
  bytes.fill(0);
  ASSERT_EQ(cuda_.cuMemcpyDtoHAsync(bytes.data(), x_, 256, a_), CUDA_SUCCESS);
  EXPECT_EQ(bytes[100], 9);
}

TEST_F(DriverTest, RefusesMemoryThatThereIsNot) {
  EXPECT_EQ(cuda_.cuMemsetD8Async(x_, 0, 257, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda_.cuMemsetD8Async(x_ - 1, 0, 1, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda_.cuMemcpyDtoDAsync(x_, y_ + 200, 57, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda_.cuMemFree(x_ + 1), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuda_.cuMemAlloc(&memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda_.cuMemAlloc(&memory, size_t{1} << 40), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuda_.cuMemFreeHost(host_ + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_SUCCESS) << "nothing of that sticks";
}

// Streams are ordered by nothing but events and what the host has waited for.
TEST_F(DriverTest, StreamsRaceWithoutAnEvent) {
  ASSERT_EQ(Fill(x_, 1, a_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuMemcpyDtoDAsync(y_, x_, 256, b_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  ExpectViolation({"race: nothing orders operation 1 (fill in stream 1)",
                   "operation 2 (copy in stream 2)", "bytes 0 to 255 of \"allocation 1\""});
}

TEST_F(DriverTest, AnEventOrdersStreams) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    driver_.SetSeed(seed);
    ASSERT_EQ(Fill(x_, static_cast<unsigned char>(seed), a_), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuEventRecord(event_, a_), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
    ASSERT_EQ(Get(x_, b_), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuStreamSynchronize(b_), CUDA_SUCCESS);
    EXPECT_EQ(host_[0], seed);
  }
}

// An event stands for what was before its record, and a wait for its last record.
TEST_F(DriverTest, AnEventOrdersNothingThatCameAfterIt) {
  ASSERT_EQ(cuda_.cuEventRecord(event_, a_), CUDA_SUCCESS);
  ASSERT_EQ(Fill(x_, 1, a_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Fill(x_, 2, b_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  ExpectViolation({"race: "});
}

TEST_F(DriverTest, WaitingOnTheHostOrdersStreams) {
  ASSERT_EQ(Fill(x_, 1, a_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_SUCCESS);
  ASSERT_EQ(Fill(x_, 2, b_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(DriverTest, EventsMeasureWhatHasHappened) {
  CUevent end = nullptr;
  float ms = -1;
  ASSERT_EQ(cuda_.cuEventCreate(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuEventElapsedTime(&ms, event_, end), CUDA_ERROR_INVALID_HANDLE)
      << "never recorded";
  ASSERT_EQ(cuda_.cuStreamWaitEvent(b_, end, 0), CUDA_SUCCESS) << "which has happened";
  ASSERT_EQ(cuda_.cuEventRecord(event_, a_), CUDA_SUCCESS);
  ASSERT_EQ(Fill(x_, 1, a_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuEventRecord(end, a_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuEventElapsedTime(&ms, event_, end), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuEventElapsedTime(&ms, event_, end), CUDA_SUCCESS);
  EXPECT_GT(ms, 0);
  EXPECT_EQ(cuda_.cuEventDestroy(end), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuEventDestroy(end), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, AFaultOfAKernelSticksAndIsExplained) {
  ASSERT_EQ(Launch(Kernel(KernelsOfTests(), "beyond"), a_, {x_}), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(Fill(x_, 1, b_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ExpectViolation({"operation 1 (kernel beyond in stream 1)", "out of bounds", "PTX line"});
  const char* words = nullptr;
  ASSERT_EQ(cuda_.cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &words), CUDA_SUCCESS);
  EXPECT_NE(std::string(words).find("kernel beyond"), std::string::npos) << words;
}

TEST_F(DriverTest, BytesThatNobodyHasWrittenAreNotRead) {
  ASSERT_EQ(Get(x_, a_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_ERROR_LAUNCH_FAILED);
  ExpectViolation({"byte 0 of \"allocation 1\" was never written"});
}

TEST(DriverLimitsTest, AKernelThatDoesNotEndIsEnded) {
  DriverOptions options;
  options.instructions_max = 10000;
  DriverFixture fixture(options);
  ASSERT_TRUE(
      fixture
          .Launch(fixture.Kernel(KernelsOfTests(), "endless"), {fixture.Buffer()}, fixture.stream())
          .ok());
  const cuda::Status status = fixture.runtime().Synchronize(fixture.stream());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("CUDA_ERROR_LAUNCH_TIMEOUT"), std::string::npos);
}

TEST_F(DriverTest, LoadsThePtxThatItKnowsAndNothingElse) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  EXPECT_EQ(Load("\x7f"
                 "ELF",
                 &library),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(Load("", &library), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(Load("no PTX", &library), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(Load(".entry f() { frobnicate.b32; }", &library), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(driver_.violations().back().find("frobnicate"), std::string::npos);
  ASSERT_EQ(Load(KernelsOfTests(), &library), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuLibraryGetKernel(&kernel, library, "nobody"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(cuda_.cuLibraryGetKernel(&kernel, library, "mix"), CUDA_SUCCESS);
  EXPECT_EQ(Launch(kernel, a_, {x_, y_, z_}, 1025), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuda_.cuLibraryUnload(library), CUDA_SUCCESS);
  EXPECT_EQ(Launch(kernel, a_, {x_, y_, z_}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda_.cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, AnOlderDeviceHasNoCodeOfANewerTarget) {
  CUcontext other = nullptr;
  const CUkernel kernel = Kernel(KernelsWithTriggers(), "produce");
  ASSERT_EQ(cuda_.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuCtxSetCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(Launch(kernel, nullptr, {x_, y_}), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(DriverTest, CapturesAreHeldToTheirRules) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuda_.cuStreamEndCapture(a_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuda_.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const auto begin = [&](CUstream stream) {
    return cuda_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  };
  // A second begin, and then waiting for the stream, which ends the capture.
  ASSERT_EQ(begin(a_), CUDA_SUCCESS);
  EXPECT_EQ(begin(a_), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(Fill(x_, 1, a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuda_.cuStreamEndCapture(a_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  // An event from outside.
  ASSERT_EQ(cuda_.cuEventRecord(event_, b_), CUDA_SUCCESS);
  ASSERT_EQ(begin(a_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuStreamWaitEvent(a_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(cuda_.cuStreamEndCapture(a_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // An event of another capture.
  ASSERT_EQ(begin(a_), CUDA_SUCCESS);
  ASSERT_EQ(begin(b_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuEventRecord(event_, a_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuStreamWaitEvent(b_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  for (CUstream stream : {a_, b_}) {
    EXPECT_EQ(cuda_.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  EXPECT_EQ(cuda_.cuStreamWaitEvent(b_, event_, 0), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_TRUE(driver_.violations().empty());
}

TEST_F(DriverTest, AStreamThatJoinsACaptureHasToBeJoinedToIt) {
  for (const bool joins : {false, true}) {
    CUevent back = nullptr;
    CUgraph graph = nullptr;
    size_t nodes = 0, edges = 0;
    ASSERT_EQ(cuda_.cuEventCreate(&back, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    ASSERT_EQ(Fill(x_, 1, a_), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuEventRecord(event_, a_), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
    ASSERT_EQ(Fill(y_, 1, b_), CUDA_SUCCESS);
    ASSERT_EQ(Fill(z_, 1, a_), CUDA_SUCCESS);
    ASSERT_EQ(cuda_.cuEventRecord(back, b_), CUDA_SUCCESS);
    if (joins) {
      ASSERT_EQ(cuda_.cuStreamWaitEvent(a_, back, 0), CUDA_SUCCESS);
      ASSERT_EQ(cuda_.cuMemcpyDtoDAsync(x_, y_, 256, a_), CUDA_SUCCESS);
    }
    const CUresult ended = cuda_.cuStreamEndCapture(a_, &graph);
    EXPECT_EQ(ended, joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    if (!joins) continue;
    EXPECT_EQ(cuda_.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), CUDA_SUCCESS);
    EXPECT_EQ(nodes, 4u);
    EXPECT_EQ(edges, 4u);
  }
  ASSERT_EQ(cuda_.cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuEventRecord(event_, a_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuStreamWaitEvent(b_, event_, 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuda_.cuStreamEndCapture(b_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
}

TEST_F(DriverTest, EdgesOfGraphsAreChecked) {
  CUgraph graph = nullptr;
  CUgraphNode fill = nullptr, other = nullptr, kernel = nullptr, next = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuda_.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  const CUDA_MEMSET_NODE_PARAMS memset_params = {x_, 0, 1, 1, 256, 1};
  ASSERT_EQ(cuda_.cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset_params, context_),
            CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuGraphAddEmptyNode(&other, graph, &fill, 1), CUDA_SUCCESS);
  void* arguments[] = {&x_, &y_};
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.kern = Kernel(KernelsWithTriggers(), "produce");
  params.gridDimX = 2, params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 32, params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = arguments;
  for (CUgraphNode* node : {&kernel, &next}) {
    ASSERT_EQ(cuda_.cuGraphAddKernelNode(node, graph, nullptr, 0, &params), CUDA_SUCCESS);
  }
  const auto add = [&](CUgraphNode from, CUgraphNode to, CUgraphEdgeData data) {
    return cuda_.cuGraphAddDependencies(graph, &from, &to, &data, 1);
  };
  CUgraphEdgeData programmatic = {};
  programmatic.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  programmatic.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  EXPECT_EQ(add(fill, other, {}), CUDA_ERROR_INVALID_VALUE) << "is there already";
  EXPECT_EQ(add(fill, fill, {}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(fill, kernel, programmatic), CUDA_ERROR_INVALID_VALUE) << "a fill cannot trigger";
  EXPECT_EQ(add(kernel, next, programmatic), CUDA_SUCCESS);
  EXPECT_EQ(add(fill, kernel, {}), CUDA_SUCCESS);
  CUgraphNode from[3] = {}, to[3] = {};
  size_t count = 3;
  EXPECT_EQ(cuda_.cuGraphGetEdges(graph, from, to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  CUgraphNode all[6] = {fill};
  count = 6;
  ASSERT_EQ(cuda_.cuGraphGetNodes(graph, all, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(all[4], nullptr);
  ASSERT_EQ(cuda_.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  CUcontext older = nullptr;
  ASSERT_EQ(cuda_.cuDevicePrimaryCtxRetain(&older, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuCtxSetCurrent(older), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_NOT_SUPPORTED)
      << "no programmatic edges before 9.0";
  ASSERT_EQ(cuda_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(add(other, fill, {}), CUDA_SUCCESS) << "a cycle is found when it is instantiated";
  EXPECT_EQ(cuda_.cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
}

class ExecutableTest : public DriverTest {
 protected:
  // An executable graph of one kernel: z = 3 x + y.
  CUgraphExec Capture() {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(Load(KernelsOfTests(), &library_), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    EXPECT_EQ(cuda_.cuLibraryGetKernel(&kernel, library_, "mix"), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(Launch(kernel, a_, {x_, y_, z_}), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuStreamEndCapture(a_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(Fill(x_, 1, a_), CUDA_SUCCESS);
    EXPECT_EQ(Fill(y_, 2, a_), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_SUCCESS);
    return exec;
  }

  CUlibrary library_ = nullptr;
};

// A capture runs nothing, and what was made of it needs neither graph nor stream.
TEST_F(ExecutableTest, RunsWithoutItsGraph) {
  const CUgraphExec exec = Capture();
  EXPECT_EQ(driver_.launches_of_graphs(), 0);
  ASSERT_EQ(cuda_.cuGraphLaunch(exec, b_), CUDA_SUCCESS);
  ASSERT_EQ(Get(z_, b_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuStreamSynchronize(b_), CUDA_SUCCESS);
  uint32_t word = 0;
  std::memcpy(&word, host_, 4);
  EXPECT_EQ(word, 3 * 0x01010101u + 0x02020202u);
  EXPECT_EQ(driver_.launches_of_graphs(), 1);
}

TEST_F(ExecutableTest, LaunchesOfOneDoNotOverlap) {
  const CUgraphExec exec = Capture();
  ASSERT_EQ(cuda_.cuGraphLaunch(exec, a_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuGraphLaunch(exec, b_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ExecutableTest, MemoryThatIsGoneIsFoundOut) {
  const CUgraphExec exec = Capture();
  ASSERT_EQ(cuda_.cuMemFree(y_), CUDA_SUCCESS);
  ASSERT_EQ(cuda_.cuGraphLaunch(exec, a_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuStreamSynchronize(a_), CUDA_ERROR_ILLEGAL_ADDRESS);
  ExpectViolation({"node 0 (kernel mix)", "out of bounds"});
}

TEST_F(ExecutableTest, AKernelThatIsGoneIsFoundOut) {
  const CUgraphExec exec = Capture();
  ASSERT_EQ(cuda_.cuLibraryUnload(library_), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.cuGraphLaunch(exec, a_), CUDA_ERROR_ILLEGAL_ADDRESS);
  ExpectViolation({"node 0 (kernel mix)", "unloaded"});
}

}  // namespace
}  // namespace plait::simulated_gpu
