#include "gpu_worker/simulated_gpu/driver/library_calls.h"

#include <mutex>
#include <utility>

#include "gpu_worker/simulated_gpu/driver/driver_calls.h"
#include "gpu_worker/simulated_gpu/driver/driver_table.h"

namespace plait::simulated_gpu {
namespace {

// Calls a method of the driver, if there is one.
template <typename... Parameters, typename... Arguments>
CUresult Locked(CUresult (DriverCalls::*method)(Parameters...), Arguments... arguments) {
  DriverCalls* driver = TheDriver();
  if (driver == nullptr) return CUDA_ERROR_DEINITIALIZED;
  const std::lock_guard<std::mutex> lock(driver->mutex());
  return (driver->*method)(std::move(arguments)...);
}

}  // namespace

CUresult DriverCalls::CurrentDevice(int* device) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::CheckStream(CUstream handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  return FindStream(handle, &context, &stream);
}

CUresult DriverCalls::OptionsOf(int device, DeviceOptions* options) const {
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *options = options_.devices[static_cast<size_t>(device)];
  return CUDA_SUCCESS;
}

CUresult DriverCalls::LoadStandIn(std::shared_ptr<const StandIn> stand_in, bool shared,
                                  CUkernel* kernel) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (shared) {
    const auto [known, is_new] = shared_stand_ins_.try_emplace(stand_in->name(), nullptr);
    if (is_new) known->second = NextHandle<CUkernel>();
    *kernel = known->second;
    if (!is_new) return CUDA_SUCCESS;
  } else {
    *kernel = NextHandle<CUkernel>();
  }
  kernels_[*kernel] = {nullptr, {nullptr, std::move(stand_in)}};
  return CUDA_SUCCESS;
}

void DriverCalls::UnloadStandIn(CUkernel kernel, const StandIn* stand_in) {
  const auto found = kernels_.find(kernel);
  if (found != kernels_.end() && found->second.code.stand_in.get() == stand_in) {
    kernels_.erase(found);
  }
}

CUresult DriverCalls::LaunchStandIn(CUkernel kernel, absl::Span<const uint64_t> arguments,
                                    CUstream stream) {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<uint64_t> words(arguments.begin(), arguments.end());
  std::vector<void*> pointers;
  for (uint64_t& word : words) pointers.push_back(&word);
  KernelCommand command;
  if (const CUresult code = MakeKernelCommand(kernel, found->second.code.stand_in->shape(), 0,
                                              pointers.data(), &command);
      code != CUDA_SUCCESS) {
    return code;
  }
  return Submit(stream, command);
}

CUresult BeginLibraryCall(const char* function, bool needs_context) {
  DriverCalls* driver = TheDriver();
  if (driver == nullptr) return needs_context ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
  return driver->faults().Begin(function, needs_context);
}

CUresult CurrentDevice(int* device) { return Locked(&DriverCalls::CurrentDevice, device); }

CUresult CheckStream(CUstream stream) { return Locked(&DriverCalls::CheckStream, stream); }

CUresult OptionsOf(int device, DeviceOptions* options) {
  DriverCalls* driver = TheDriver();
  if (driver == nullptr) return CUDA_ERROR_DEINITIALIZED;
  const std::lock_guard<std::mutex> lock(driver->mutex());
  return driver->OptionsOf(device, options);
}

CUresult LoadStandIn(std::shared_ptr<const StandIn> stand_in, bool shared, CUkernel* kernel) {
  return Locked(&DriverCalls::LoadStandIn, std::move(stand_in), shared, kernel);
}

void UnloadStandIn(CUkernel kernel, const StandIn* stand_in) {
  DriverCalls* driver = TheDriver();
  if (driver == nullptr) return;
  const std::lock_guard<std::mutex> lock(driver->mutex());
  driver->UnloadStandIn(kernel, stand_in);
}

CUresult LaunchStandIn(CUkernel kernel, absl::Span<const uint64_t> arguments, CUstream stream) {
  return Locked(&DriverCalls::LaunchStandIn, kernel, arguments, stream);
}

}  // namespace plait::simulated_gpu
