#include "gpu_worker/backends/cuda/run/device_description.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "gpu_worker/backends/cuda/cudnn/descriptor.h"
#include "gpu_worker/backends/cuda/cudnn/engines.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"

namespace plait::cuda {
namespace {

// The limits decide which engines cuDNN lists: registers, threads and shared memory per block and
// per multiprocessor. 232448 bytes are the 227 KiB that a block of compute capability 9.0 can have.
constexpr const char* kH200Json =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
    R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
    R"("l2CacheSize":62914560,"deviceName":"NVIDIA H200","deviceVer":900,"driverVer":13000,)"
    R"("cudaDeviceId":0,"totalGlobalMem":150754820096})";

// The integer behind "name": in flat JSON.
std::optional<int> FindInteger(const std::string& json, const std::string& name) {
  const std::string key = "\"" + name + "\"";
  size_t position = json.find(key);
  if (position == std::string::npos) return std::nullopt;
  position = json.find_first_not_of(" \t\r\n:", position + key.size());
  if (position == std::string::npos) return std::nullopt;
  int value = 0;
  const auto parsed = std::from_chars(json.data() + position, json.data() + json.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

Result<CudaDevice> ParseDeviceDescription(const std::string& json, bool present) {
  const std::optional<int> version = FindInteger(json, "deviceVer");
  const std::optional<int> multiprocessors = FindInteger(json, "multiProcessorCount");
  // deviceVer is the compute capability times 100: 900 for 9.0.
  if (!version || !multiprocessors || *version < 100 || *multiprocessors < 1) {
    return Error{ErrorCode::kInvalid,
                 "device description: deviceVer or multiProcessorCount is missing or out of range"};
  }
  CudaDevice description;
  description.json = json;
  description.sm_major = *version / 100;
  description.sm_minor = *version % 100 / 10;
  description.multiprocessors = *multiprocessors;
  description.present = present;
  return description;
}

Result<CudaDevice> DescribeDevice(int device_index) {
  const Result<const CudnnLibrary*> library = CudnnLibrary::Get();
  if (!library.ok()) return library.error();
  // cuDNN describes a device from what the driver says; a handle proves that there is one.
  if (Result<cudnnHandle_t> handle = ThreadCudnnHandle(*library.value()); !handle.ok()) {
    return handle.error();
  }
  CudnnDescriptor device(*library.value(), CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device");
  device.Set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, static_cast<int32_t>(device_index));
  PLAIT_CUDA_RETURN_IF_ERROR(device.Finalize());
  const Result<std::string> json = ReadCudnnDeviceJson(device);
  if (!json.ok()) return json.error();
  return ParseDeviceDescription(json.value(), true);
}

CudaDevice PresentDevice(Runtime* runtime, const DeviceFacts& facts,
                         const Result<CudaDevice>& described) {
  CudaDevice device;
  if (described.ok()) device.json = described.value().json;
  device.sm_major = facts.sm_major;
  device.sm_minor = facts.sm_minor;
  device.multiprocessors = facts.multiprocessors;
  device.present = true;
  device.runtime = runtime;
  return device;
}

CudaDevice DescribeH200() { return std::move(ParseDeviceDescription(kH200Json, false)).value(); }

}  // namespace plait::cuda
