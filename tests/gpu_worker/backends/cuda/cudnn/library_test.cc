#include "gpu_worker/backends/cuda/cudnn/library.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/cudnn/engines.h"
#include "gpu_worker/backends/cuda/cudnn/source.h"
#include "gpu_worker/backends/cuda/driver/dynamic_library.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "tests/gpu_worker/backends/cuda/cudnn/test_cases.h"

namespace plait::cuda {
namespace {

TEST(DynamicLibraryTest, OpensTheFirstNameThatIsThere) {
  const Result<DynamicLibrary> library = DynamicLibrary::Open({"libnone.so.7", "libm.so.6"});
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(library.value().name(), "libm.so.6");
  const auto cosine = library.value().Symbol<double(double)>("cos");
  ASSERT_TRUE(cosine.ok());
  EXPECT_EQ(cosine.value()(0.0), 1.0);
  const auto none = library.value().Symbol<double(double)>("no_such_function");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(none.error().message.find("no_such_function"), std::string::npos);
}

TEST(DynamicLibraryTest, NamesTheLibraryThatIsMissing) {
  const Result<DynamicLibrary> library = DynamicLibrary::Open({"libnone.so.7"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(library.error().message.find("libnone.so.7"), std::string::npos);
}

TEST(CudnnLibraryTest, IsNotOpenedWithoutCublasLt) {
  const Result<CudnnLibrary> library =
      CudnnLibrary::Open({"libno_cublasLt.so.13"}, {"libcudnn.so.9"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(library.error().message.find("libno_cublasLt.so.13"), std::string::npos);
}

TEST(CudnnLibraryTest, MissingOrForeignLibraryIsAnError) {
  const Result<CudnnLibrary> missing = CudnnLibrary::Open({"libm.so.6"}, {"libno_cudnn.so.9"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("libno_cudnn.so.9"), std::string::npos);
  const Result<CudnnLibrary> foreign = CudnnLibrary::Open({"libm.so.6"}, {"libm.so.6"});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(foreign.error().message.find("cudnnGetVersion"), std::string::npos);
}

TEST(CudnnLibraryTest, SaysWhatCudnnSaid) {
  const auto library = CudnnLibrary::Get();
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ(library.value()->Version().substr(0, 2), "9.");
  const Status status = library.value()->Check(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "a thing");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(status.error().message.find("a thing: CUDNN_STATUS_NOT_SUPPORTED_LAYOUT"), 0U);
  EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
}

TEST(DeviceDescriptionTest, ReadsWhatCandidatesNeed) {
  const CudaDevice h200 = DescribeH200();
  EXPECT_EQ(h200.sm_major, 9);
  EXPECT_EQ(h200.sm_minor, 0);
  EXPECT_EQ(h200.multiprocessors, 132);
  EXPECT_FALSE(h200.present);
  const auto other =
      ParseDeviceDescription(R"({ "multiProcessorCount" : 60, "deviceVer" : 890 })", true);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other.value().sm_major, 8);
  EXPECT_EQ(other.value().sm_minor, 9);
  EXPECT_EQ(other.value().multiprocessors, 60);
  EXPECT_TRUE(other.value().present);
}

// A kernel for the wrong architecture cannot be loaded, and one for sm_90a runs on 9.0 alone.
TEST(DeviceDescriptionTest, TheArchitectureIsTheDevicesAlsoWithoutCudnn) {
  DeviceFacts facts;
  facts.sm_major = 8;
  facts.sm_minor = 6;
  facts.multiprocessors = 84;
  const std::unique_ptr<Runtime> made = MakeDriverRuntime(0);
  Runtime* const runtime = made.get();
  const CudaDevice bare =
      PresentDevice(runtime, facts, Error{ErrorCode::kUnavailable, "no libcudnn.so.9"});
  EXPECT_EQ(bare.sm_major, 8);
  EXPECT_EQ(bare.sm_minor, 6);
  EXPECT_EQ(bare.multiprocessors, 84);
  EXPECT_EQ(bare.json, "");
  EXPECT_TRUE(bare.present);
  EXPECT_EQ(bare.runtime, runtime);
  const CudaDevice described = PresentDevice(runtime, facts, DescribeH200());
  EXPECT_EQ(described.json, DescribeH200().json);
  EXPECT_EQ(described.sm_major, 8);
}

TEST(DeviceDescriptionTest, RefusesWhatIsNoDescription) {
  for (const char* json : {"", "{", R"({"deviceVer":900})", R"({"multiProcessorCount":132})",
                           R"({"deviceVer":"900","multiProcessorCount":132})",
                           R"({"deviceVer":9,"multiProcessorCount":132})",
                           R"({"deviceVer":900,"multiProcessorCount":-1})", R"("deviceVer")"}) {
    const auto description = ParseDeviceDescription(json, false);
    ASSERT_FALSE(description.ok()) << json;
    EXPECT_EQ(description.error().code, ErrorCode::kInvalid);
  }
}

TEST(DeviceDescriptionTest, ReadsTheFormThatCudnnWrites) {
  const auto library = CudnnLibrary::Get();
  ASSERT_TRUE(library.ok()) << library.error().message;
  const auto device = DescribeCudnnDevice(*library.value(), DescribeH200().json);
  ASSERT_TRUE(device.ok()) << device.error().message;
  const auto json = ReadCudnnDeviceJson(device.value());
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_NE(json.value().find("NVIDIA H200"), std::string::npos);
  const auto description = ParseDeviceDescription(json.value(), true);
  ASSERT_TRUE(description.ok()) << description.error().message;
  EXPECT_EQ(description.value().multiprocessors, 132);
  EXPECT_EQ(description.value().sm_major, 9);
}

TEST(DeviceDescriptionTest, DescribesTheDeviceOrSaysThatThereIsNone) {
  const auto device = DescribeDevice();
  if (device.ok()) {
    EXPECT_TRUE(device.value().present);
    EXPECT_GT(device.value().multiprocessors, 0);
  } else {
    EXPECT_EQ(device.error().code, ErrorCode::kUnavailable) << device.error().message;
    EXPECT_NE(device.error().message.find("cudnnCreate"), std::string::npos);
  }
}

TEST(CudnnSourceTest, RefusesHostileProblems) {
  for (const CudnnCase& hostile : HostileProblems()) {
    for (const auto layout : {MemoryLayout::kNchw, MemoryLayout::kNhwc}) {
      const auto candidates = kCudnnSource.enumerate(hostile.problem, Precision::kFp16, layout,
                                                     OperandPlaces(), DescribeH200());
      ASSERT_FALSE(candidates.ok()) << hostile.name;
      EXPECT_EQ(candidates.error().code, ErrorCode::kInvalid) << hostile.name;
      EXPECT_FALSE(candidates.error().message.empty());
    }
  }
}

TEST(CudnnSourceTest, RefusesADeviceThatIsNotDescribed) {
  for (const char* json : {"", "{", "[]", R"({"deviceVer":"new"})"}) {
    CudaDevice device = DescribeH200();
    device.json = json;
    const auto candidates = kCudnnSource.enumerate(CudnnCaseProblem("conv"), Precision::kFp16,
                                                   MemoryLayout::kNhwc, OperandPlaces(), device);
    EXPECT_FALSE(candidates.ok()) << json;
  }
}

TEST(CudnnSourceTest, LargestProblemsGiveAListOrAnError) {
  ConvProblem conv;
  conv.c = conv.k = 1;
  conv.h = conv.w = 1 << 15;
  conv.r = conv.s = 31;
  conv.pad = {15, 15, 15, 15};
  const auto candidates = kCudnnSource.enumerate(conv, Precision::kTf32, MemoryLayout::kNchw,
                                                 OperandPlaces(), DescribeH200());
  if (!candidates.ok()) return;
  for (const auto& candidate : candidates.value()) {
    const Status status = candidate->Prepare();
    EXPECT_TRUE(status.ok() || !status.error().message.empty());
  }
}

}  // namespace
}  // namespace plait::cuda
