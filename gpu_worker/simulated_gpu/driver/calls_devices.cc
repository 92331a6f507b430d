#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

// Initialization, devices and their primary contexts.

namespace plait::simulated_gpu {
namespace {

constexpr int kDriverVersion = 13000;  // 13.0, the manual that this was written by

// As much of `text` as fits, and a zero.
CUresult CopyText(const std::string& text, char* to, int bytes) {
  if (to == nullptr || bytes < 1) return CUDA_ERROR_INVALID_VALUE;
  const size_t length = std::min(text.size(), static_cast<size_t>(bytes) - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return CUDA_SUCCESS;
}

}  // namespace

DriverCalls::DriverCalls(DriverOptions options) : options_(std::move(options)) {
  for (const Fault& fault : options_.faults) faults_.Add(fault);
  for (int device = 0; device < static_cast<int>(options_.devices.size()); ++device) {
    contexts_.try_emplace(device, device, options_.seed + static_cast<uint64_t>(device));
  }
}

void DriverCalls::SetSeed(uint64_t seed) {
  for (auto& [device, context] : contexts_) context.queue.SetSeed(seed);
}

std::vector<std::string> DriverCalls::TakeTrace(int device) {
  return contexts_.at(device).queue.TakeTrace();
}

std::vector<std::string> DriverCalls::Leaks() const {
  std::vector<std::string> leaks;
  const auto note = [&](size_t count, const char* what) {
    if (count > 0) leaks.push_back(absl::StrCat(count, " ", what));
  };
  for (const auto& [device, context] : contexts_) {
    note(static_cast<size_t>(context.retained), "retained contexts");
    note(context.allocations.size(), "allocations");
    note(context.pinned.size(), "allocations of the host");
    note(context.streams.size() - context.streams.count(nullptr), "streams");
    note(context.events.size(), "events");
    note(context.execs.size(), "executable graphs");
  }
  note(graphs_.size(), "graphs");
  note(libraries_.size(), "libraries");
  return leaks;
}

bool DriverCalls::KnowsDevice(CUdevice device) const {
  return device >= 0 && device < static_cast<int>(options_.devices.size());
}

CUresult DriverCalls::Enter(ContextObject** context) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  const auto found = current_.find(std::this_thread::get_id());
  if (found == current_.end() || found->second == nullptr || found->second->retained == 0) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = found->second;
  return (*context)->sticky;
}

CUresult DriverCalls::cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  initialized_ = true;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuDeviceGetCount(int* count) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  *count = static_cast<int>(options_.devices.size());
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuDeviceGet(CUdevice* device, int index) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  if (!KnowsDevice(index)) return CUDA_ERROR_INVALID_DEVICE;
  *device = index;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  return CopyText(options_.devices[device].name, name, bytes);
}

CUresult DriverCalls::cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  // A domain that no machine has.
  return CopyText(absl::StrFormat("ffff:%02x:00.0", device), id, bytes);
}

CUresult DriverCalls::cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                           CUdevice device) {
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  const DeviceOptions& options = options_.devices[device];
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = options.sm_major;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = options.sm_minor;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = options.multiprocessors;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = options.threads_per_multiprocessor;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = options.l2_bytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult DriverCalls::cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = static_cast<size_t>(options_.devices[device].memory_bytes);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  ContextObject& context = contexts_.at(device);
  ++context.retained;
  context.streams[nullptr];
  *handle = reinterpret_cast<CUcontext>(&context);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuDevicePrimaryCtxRelease(CUdevice device) {
  if (!KnowsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  ContextObject& context = contexts_.at(device);
  if (context.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --context.retained;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuCtxSetCurrent(CUcontext handle) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  ContextObject* found = nullptr;
  for (auto& [device, context] : contexts_) {
    if (reinterpret_cast<CUcontext>(&context) == handle) found = &context;
  }
  if (handle != nullptr && (found == nullptr || found->retained == 0)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  current_[std::this_thread::get_id()] = found;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuCtxSynchronize() {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  for (auto& [handle, stream] : context->streams) {
    if (stream.capture == nullptr) continue;
    stream.capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const absl::Status status = context->queue.WaitForAll();
  return status.ok() ? CUDA_SUCCESS : Sticky(context, status);
}

}  // namespace plait::simulated_gpu
