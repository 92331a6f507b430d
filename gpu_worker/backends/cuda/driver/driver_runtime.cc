#include "gpu_worker/backends/cuda/driver/driver_runtime.h"

#include <array>
#include <memory>
#include <string>

namespace plait::cuda {
namespace {

CUdeviceptr Address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

Result<int> CountOf(const DriverLibrary& driver) {
  PLAIT_CUDA_RETURN_IF_ERROR(driver.Check("cuInit", driver.cuInit(0)));
  int count = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(driver.Check("cuDeviceGetCount", driver.cuDeviceGetCount(&count)));
  return count;
}

}  // namespace

DriverRuntime::~DriverRuntime() {
  // Complaints are nobody's: the last user of the context is leaving.
  if (context_ != nullptr) static_cast<void>(library_->cuDevicePrimaryCtxRelease(device_));
}

Status DriverRuntime::Open() {
  if (library_ == nullptr) {
    const Result<const DriverLibrary*> library = DriverLibrary::Get();
    if (!library.ok()) return library.error();
    library_ = library.value();
  }
  const DriverLibrary& driver = *library_;
  const Result<int> count = CountOf(driver);
  if (!count.ok()) return count.error();
  if (device_index_ < 0 || device_index_ >= count.value()) {
    return Error{ErrorCode::kUnavailable, "cuda:" + std::to_string(device_index_) + ": there are " +
                                              std::to_string(count.value()) + " devices"};
  }
  PLAIT_CUDA_RETURN_IF_ERROR(
      driver.Check("cuDeviceGet", driver.cuDeviceGet(&device_, device_index_)));
  return driver.Check("cuDevicePrimaryCtxRetain",
                      driver.cuDevicePrimaryCtxRetain(&context_, device_));
}

Status DriverRuntime::Enter() {
  std::call_once(opened_, [this] { open_status_ = Open(); });
  PLAIT_CUDA_RETURN_IF_ERROR(*open_status_);
  return library_->Check("cuCtxSetCurrent", library_->cuCtxSetCurrent(context_));
}

Result<int> DriverRuntime::Attribute(CUdevice_attribute attribute) {
  int value = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(
      Call(PLAIT_DRIVER_CALL(cuDeviceGetAttribute), &value, attribute, device_));
  return value;
}

Result<DeviceFacts> DriverRuntime::Describe() {
  DeviceFacts facts;
  std::array<char, 256> name = {};
  PLAIT_CUDA_RETURN_IF_ERROR(Enter());
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuDeviceGetName), name.data(),
                                  static_cast<int>(name.size() - 1), device_));
  facts.name = name.data();
  std::array<char, 32> bus_id = {};
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuDeviceGetPCIBusId), bus_id.data(),
                                  static_cast<int>(bus_id.size() - 1), device_));
  facts.pci_bus_id = bus_id.data();
  size_t bytes = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuDeviceTotalMem), &bytes, device_));
  facts.memory_bytes = static_cast<int64_t>(bytes);
  int l2_bytes = 0;
  const std::pair<CUdevice_attribute, int*> wanted[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &facts.sm_major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &facts.sm_minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &facts.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &facts.threads_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes}};
  for (const auto& [attribute, value] : wanted) {
    const Result<int> read = Attribute(attribute);
    if (!read.ok()) return read.error();
    *value = read.value();
  }
  facts.l2_bytes = l2_bytes;
  const Result<int> clock_khz = Attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const Result<int> width_bits = Attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  if (clock_khz.ok() && width_bits.ok()) {
    // Twice a clock.
    facts.memory_bytes_per_us = 2e-3 * clock_khz.value() * width_bits.value() / 8;
  }
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuDriverGetVersion), &facts.driver_version));
  facts.runtime_version = CUDA_VERSION;
  return facts;
}

// The first call takes the error of earlier work with it; only one that stays is reported.
Status DriverRuntime::CheckHealth() {
  PLAIT_CUDA_RETURN_IF_ERROR(Enter());
  static_cast<void>(library_->cuCtxSynchronize());
  return Call(PLAIT_DRIVER_CALL(cuCtxSynchronize));
}

Result<void*> DriverRuntime::Allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuMemAlloc), &memory, bytes));
  return reinterpret_cast<void*>(memory);
}

Status DriverRuntime::Free(void* memory) {
  return Call(PLAIT_DRIVER_CALL(cuMemFree), Address(memory));
}

Result<void*> DriverRuntime::AllocateHost(size_t bytes) {
  void* memory = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(
      Call(PLAIT_DRIVER_CALL(cuMemHostAlloc), &memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
  return memory;
}

Status DriverRuntime::FreeHost(void* memory) {
  return Call(PLAIT_DRIVER_CALL(cuMemFreeHost), memory);
}

Status DriverRuntime::CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuMemcpyHtoDAsync), Address(to), from, bytes, stream);
}

Status DriverRuntime::CopyToHost(void* to, const void* from, size_t bytes, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuMemcpyDtoHAsync), to, Address(from), bytes, stream);
}

Status DriverRuntime::CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuMemcpyDtoDAsync), Address(to), Address(from), bytes, stream);
}

Status DriverRuntime::Fill(void* memory, int byte, size_t bytes, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuMemsetD8Async), Address(memory), static_cast<unsigned char>(byte),
              bytes, stream);
}

Result<Stream> DriverRuntime::CreateStream(int priority) {
  Stream stream = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuStreamCreateWithPriority), &stream,
                                  static_cast<unsigned>(CU_STREAM_NON_BLOCKING), priority));
  return stream;
}

Status DriverRuntime::DestroyStream(Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuStreamDestroy), stream);
}

Status DriverRuntime::Synchronize(Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuStreamSynchronize), stream);
}

Status DriverRuntime::WaitForEvent(Stream stream, Event event) {
  return Call(PLAIT_DRIVER_CALL(cuStreamWaitEvent), stream, event, 0U);
}

Result<Event> DriverRuntime::CreateEvent() {
  Event event = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuEventCreate), &event, 0U));
  return event;
}

Status DriverRuntime::DestroyEvent(Event event) {
  return Call(PLAIT_DRIVER_CALL(cuEventDestroy), event);
}

Status DriverRuntime::RecordEvent(Event event, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuEventRecord), event, stream);
}

// CUDA counts milliseconds.
Result<double> DriverRuntime::ElapsedUs(Event begin, Event end) {
  float ms = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuEventElapsedTime), &ms, begin, end));
  return 1000.0 * ms;
}

// A driver that cannot be opened is told of by the next call.
bool DriverRuntime::TakesPtx() { return Enter().ok() && library_->takes_ptx; }

Result<Library> DriverRuntime::LoadLibrary(const std::string& cubin) {
  Library library = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuLibraryLoadData), &library, cubin.data(),
                                  nullptr, nullptr, 0U, nullptr, nullptr, 0U));
  return library;
}

Result<Kernel> DriverRuntime::FindKernel(Library library, const char* name) {
  Kernel kernel = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuLibraryGetKernel), &kernel, library, name));
  return kernel;
}

Status DriverRuntime::UnloadLibrary(Library library) {
  return Call(PLAIT_DRIVER_CALL(cuLibraryUnload), library);
}

Status DriverRuntime::LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                                   Stream stream) {
  // The driver takes a kernel of a library in the place of a function of a module.
  return Call(PLAIT_DRIVER_CALL(cuLaunchKernel), reinterpret_cast<CUfunction>(kernel),
              shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
              shape.block[2], shape.shared_bytes, stream, arguments, nullptr);
}

Result<int> DeviceCount() {
  const Result<const DriverLibrary*> library = DriverLibrary::Get();
  if (!library.ok()) return library.error();
  return CountOf(*library.value());
}

std::unique_ptr<Runtime> MakeDriverRuntime(int device_index) {
  return std::make_unique<DriverRuntime>(device_index, nullptr);
}

}  // namespace plait::cuda
