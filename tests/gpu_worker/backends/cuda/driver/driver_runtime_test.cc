#include "gpu_worker/backends/cuda/driver/driver_runtime.h"

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

// What a driver of three devices was asked; C functions carry no state.
struct FakeDriver {
  std::vector<std::string> calls;
  std::set<CUcontext> contexts;  // made current
  int retained = 0, released = 0, device = -1;
  int priority = 0;
  CUresult launch_result = CUDA_SUCCESS;
};

FakeDriver& TheFakeDriver() {
  static FakeDriver fake;
  return fake;
}

CUresult Note(const char* call) {
  TheFakeDriver().calls.push_back(call);
  return CUDA_SUCCESS;
}

// A library that answers the calls below; any other one is null, and must not be made.
DriverLibrary FakeLibrary() {
  DriverLibrary driver;
  driver.cuGetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult, const char** words) {
    *words = "a fake error";
    return CUDA_SUCCESS;
  };
  driver.cuInit = [](unsigned) { return Note("cuInit"); };
  driver.cuDeviceGetCount = [](int* count) {
    *count = 3;
    return Note("cuDeviceGetCount");
  };
  driver.cuDeviceGet = [](CUdevice* device, int index) {
    *device = 10 + index;  // no index: whoever takes one for the other is found out
    TheFakeDriver().device = index;
    return Note("cuDeviceGet");
  };
  driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice device) {
    *context = reinterpret_cast<CUcontext>(uintptr_t{0x100} * device);
    ++TheFakeDriver().retained;
    return Note("cuDevicePrimaryCtxRetain");
  };
  driver.cuDevicePrimaryCtxRelease = [](CUdevice) {
    ++TheFakeDriver().released;
    return CUDA_SUCCESS;
  };
  driver.cuCtxSetCurrent = [](CUcontext context) {
    TheFakeDriver().contexts.insert(context);
    return Note("cuCtxSetCurrent");
  };
  driver.cuMemFree = [](CUdeviceptr) { return Note("cuMemFree"); };
  driver.cuGraphLaunch = [](CUgraphExec, CUstream) {
    Note("cuGraphLaunch");
    return TheFakeDriver().launch_result;
  };
  driver.cuGraphUpload = [](CUgraphExec, CUstream) { return Note("cuGraphUpload"); };
  driver.cuGraphKernelNodeSetAttribute = [](CUgraphNode, CUkernelNodeAttrID attribute,
                                            const CUkernelNodeAttrValue* value) {
    if (attribute != CU_KERNEL_NODE_ATTRIBUTE_PRIORITY) return CUDA_ERROR_INVALID_VALUE;
    TheFakeDriver().priority = value->priority;
    return Note("cuGraphKernelNodeSetAttribute");
  };
  driver.cuMemcpyHtoDAsync = [](CUdeviceptr, const void*, size_t, CUstream stream) {
    return stream == nullptr ? CUDA_ERROR_INVALID_VALUE : Note("cuMemcpyHtoDAsync");
  };
  return driver;
}

class DriverRuntimeTest : public testing::Test {
 protected:
  void SetUp() override { TheFakeDriver() = FakeDriver(); }

  const DriverLibrary library_ = FakeLibrary();
};

TEST_F(DriverRuntimeTest, OpensItsDeviceAtTheFirstCallAndReleasesIt) {
  {
    DriverRuntime runtime(2, &library_);
    EXPECT_TRUE(TheFakeDriver().calls.empty());
    EXPECT_TRUE(runtime.Free(&runtime).ok());
    EXPECT_TRUE(runtime.Free(&runtime).ok());
    EXPECT_EQ(TheFakeDriver().calls,
              (std::vector<std::string>{"cuInit", "cuDeviceGetCount", "cuDeviceGet",
                                        "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemFree",
                                        "cuCtxSetCurrent", "cuMemFree"}));
    EXPECT_EQ(TheFakeDriver().device, 2);
    EXPECT_EQ(TheFakeDriver().contexts,
              std::set<CUcontext>{reinterpret_cast<CUcontext>(uintptr_t{0x100} * 12)});
  }
  EXPECT_EQ(TheFakeDriver().released, 1);
}

TEST_F(DriverRuntimeTest, ADeviceThatThereIsNotIsUnavailable) {
  for (const int index : {3, -1}) {
    DriverRuntime runtime(index, &library_);
    for (int i = 0; i < 2; ++i) {
      const Status status = runtime.Free(nullptr);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
      EXPECT_NE(status.error().message.find("cuda:" + std::to_string(index)), std::string::npos);
    }
  }
  EXPECT_EQ(TheFakeDriver().retained, 0);
  EXPECT_EQ(TheFakeDriver().released, 0);
}

TEST_F(DriverRuntimeTest, EveryThreadGetsTheContext) {
  DriverRuntime runtime(0, &library_);
  ASSERT_TRUE(runtime.Free(nullptr).ok());
  TheFakeDriver().contexts.clear();
  std::thread([&] { EXPECT_TRUE(runtime.Free(nullptr).ok()); }).join();
  EXPECT_EQ(TheFakeDriver().contexts.size(), 1u);
  EXPECT_EQ(TheFakeDriver().retained, 1);
}

TEST_F(DriverRuntimeTest, SaysWhatTheDriverSaid) {
  DriverRuntime runtime(0, &library_);
  TheFakeDriver().launch_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Status status = runtime.LaunchGraph(nullptr, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDevice);
  EXPECT_EQ(status.error().message, "cuGraphLaunch: CUDA_ERROR_FAKE (700): a fake error");
  TheFakeDriver().launch_result = CUDA_ERROR_NO_DEVICE;
  EXPECT_EQ(runtime.LaunchGraph(nullptr, nullptr).error().code, ErrorCode::kUnavailable);
}

TEST_F(DriverRuntimeTest, CopiesUploadsAndPrioritiesReachTheDriver) {
  DriverRuntime runtime(0, &library_);
  char memory = 0;
  const auto stream = reinterpret_cast<Stream>(&memory);
  EXPECT_TRUE(runtime.CopyToDevice(&memory, &memory, 1, stream).ok());
  EXPECT_TRUE(runtime.UploadGraph(nullptr, stream).ok());
  EXPECT_TRUE(runtime.SetNodePriority(nullptr, -3).ok());
  EXPECT_EQ(TheFakeDriver().priority, -3);
}

// Before the test that loads a driver without a device.
TEST(MakeDriverRuntimeTest, WithoutADriverEveryCallSaysSo) {
  if (DriverLibrary::Get().ok()) GTEST_SKIP() << "there is a driver";
  const std::unique_ptr<Runtime> runtime = MakeDriverRuntime(0);
  const Result<DeviceFacts> facts = runtime->Describe();
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(facts.error().message.find("libcuda.so.1"), std::string::npos);
  EXPECT_FALSE(runtime->CheckHealth().ok());
}

TEST(DriverLibraryTest, NamesWhatIsMissing) {
  const Result<DriverLibrary> missing = DriverLibrary::Open({"libno_cuda.so.1"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(missing.error().message.find("libno_cuda.so.1"), std::string::npos);
  const Result<DriverLibrary> foreign = DriverLibrary::Open({"libm.so.6"});
  ASSERT_FALSE(foreign.ok());
  EXPECT_NE(foreign.error().message.find("cuInit"), std::string::npos);
}

// The names that cuda.h gives to newer versions of functions are those of the library.
TEST(DriverLibraryTest, FindsEveryFunctionInADriver) {
  const Result<DriverLibrary> library = DriverLibrary::Open({"libcuda.so.1", PLAIT_STUB_LIBCUDA});
  if (!library.ok() && library.error().message.find("dlopen") != std::string::npos) {
    GTEST_SKIP() << library.error().message;
  }
  EXPECT_TRUE(library.ok()) << library.error().message;
}

}  // namespace
}  // namespace plait::cuda
