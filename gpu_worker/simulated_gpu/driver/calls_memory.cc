#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

// Memory of device and host, copies and fills.

namespace plait::simulated_gpu {

CUresult DriverCalls::Drain(ContextObject* context) {
  const absl::Status status = context->queue.RunAll();
  return status.ok() ? CUDA_SUCCESS : Sticky(context, status);
}

CUresult DriverCalls::cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const int64_t left = options_.devices[context->device].memory_bytes - context->allocated_bytes;
  if (bytes > static_cast<uint64_t>(left)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::string name = absl::StrCat("allocation ", ++context->allocations_made);
  *address = context->memory.Allocate(name, static_cast<int64_t>(bytes));
  context->allocations[*address] = static_cast<int64_t>(bytes);
  context->allocated_bytes += static_cast<int64_t>(bytes);
  ++allocations_;
  return CUDA_SUCCESS;
}

// Waits for what is under way, though nothing may rely on it: the host knows no more than before.
CUresult DriverCalls::cuMemFree(CUdeviceptr address) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  const auto found = context->allocations.find(address);
  if (found == context->allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult code = Drain(context); code != CUDA_SUCCESS) return code;
  context->allocated_bytes -= found->second;
  context->allocations.erase(found);
  ++frees_;
  return context->memory.Free(address).ok() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult DriverCalls::cuMemHostAlloc(void** memory, size_t bytes, unsigned /*flags*/) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  // A value that nobody means to send, so that what was not filled is seen.
  std::vector<std::byte> buffer(bytes, std::byte{0xa5});
  *memory = buffer.data();
  context->pinned[reinterpret_cast<uint64_t>(*memory)] = std::move(buffer);
  ++allocations_;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuMemFreeHost(void* memory) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  const auto found = context->pinned.find(reinterpret_cast<uint64_t>(memory));
  if (found == context->pinned.end()) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult code = Drain(context); code != CUDA_SUCCESS) return code;
  if (context->queue.is_forgotten()) context->was_pinned.clear();
  context->was_pinned.push_back(std::move(found->second));
  context->pinned.erase(found);
  ++frees_;
  return CUDA_SUCCESS;
}

// Where an address is the device's, the whole range has to be.
CUresult DriverCalls::MakeCopy(ContextObject* context, CopyCommand* command) {
  const auto bytes = static_cast<int64_t>(command->bytes);
  const bool from = command->from_host || context->memory.Holds(command->from, bytes);
  const bool to = command->to_host || context->memory.Holds(command->to, bytes);
  return from && to ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Memory of the host that is not pinned: the copy to the device takes its bytes at once, and the
// copy from there has happened when the call returns.
CUresult DriverCalls::SubmitCopy(CopyCommand command, CUstream handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (command.bytes == 0) return CUDA_SUCCESS;
  if (const CUresult code = MakeCopy(context, &command); code != CUDA_SUCCESS) return code;
  const auto is_pinned = [&](uint64_t address) {
    auto after = context->pinned.upper_bound(address);
    if (after == context->pinned.begin()) return false;
    const auto& [begin, buffer] = *std::prev(after);
    return address + command.bytes <= begin + buffer.size();
  };
  const bool is_captured = stream->capture != nullptr;
  if (command.from_host && !is_captured && !is_pinned(command.from)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(command.from);
    command.taken = std::make_shared<const std::vector<std::byte>>(bytes, bytes + command.bytes);
  }
  const bool waits = command.to_host && !is_captured && !is_pinned(command.to);
  const CUresult code = Submit(handle, command);
  return waits && code == CUDA_SUCCESS ? Wait(context, stream->last) : code;
}

CUresult DriverCalls::cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes,
                                        CUstream stream) {
  CopyCommand copy;
  copy.to = to;
  copy.from = reinterpret_cast<uint64_t>(from);
  copy.bytes = bytes;
  copy.from_host = true;
  return SubmitCopy(std::move(copy), stream);
}

CUresult DriverCalls::cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CopyCommand copy;
  copy.to = reinterpret_cast<uint64_t>(to);
  copy.from = from;
  copy.bytes = bytes;
  copy.to_host = true;
  return SubmitCopy(std::move(copy), stream);
}

CUresult DriverCalls::cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                        CUstream stream) {
  CopyCommand copy;
  copy.to = to;
  copy.from = from;
  copy.bytes = bytes;
  return SubmitCopy(std::move(copy), stream);
}

CUresult DriverCalls::CheckFill(ContextObject* context, const FillCommand& command) {
  return context->memory.Holds(command.to, static_cast<int64_t>(command.bytes))
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult DriverCalls::cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes,
                                      CUstream stream) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (bytes == 0) return CUDA_SUCCESS;
  const FillCommand fill = {to, byte, bytes};
  if (const CUresult code = CheckFill(context, fill); code != CUDA_SUCCESS) return code;
  return Submit(stream, fill);
}

}  // namespace plait::simulated_gpu
