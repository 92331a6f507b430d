#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/driver/driver_calls.h"
#include "gpu_worker/simulated_gpu/kernel_run.h"

// Libraries of kernels, what is known of a kernel, and launches.

namespace plait::simulated_gpu {
namespace {

// Of compute capability 9.0.
constexpr int kBlocksPerMultiprocessorMax = 32;
constexpr int kSharedBytesPerMultiprocessor = 228 << 10;
constexpr int kThreadsPerBlockMax = 1024;

int SharedBytes(const KernelCode& code) {
  int64_t bytes = 0;
  if (code.program == nullptr) return 0;
  for (const PlacedVariable& variable : code.program->shared) bytes += variable.bytes;
  return static_cast<int>(bytes);
}

// A stand-in is launched as it was made: another grid would be another kernel.
CUresult TakeWords(const StandIn& stand_in, void** arguments, KernelCommand* command) {
  const LaunchShape shape = stand_in.shape();
  if (shape.grid != command->shape.grid || shape.block != command->shape.block) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto count = static_cast<size_t>(stand_in.parameters());
  if (arguments == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
  command->arguments->bytes.resize(count * sizeof(uint64_t));
  for (size_t i = 0; i < count; ++i) {
    std::byte* to = command->arguments->bytes.data() + i * sizeof(uint64_t);
    std::memcpy(to, arguments[i], sizeof(uint64_t));
    command->arguments->pointers.push_back(to);
  }
  return CUDA_SUCCESS;
}

absl::StatusOr<std::vector<Program>> DecodeAll(absl::string_view text) {
  PLAIT_ASSIGN_OR_RETURN(const PtxModule module, ParsePtx(text));
  std::vector<Program> programs;
  for (const PtxKernel& kernel : module.kernels) {
    PLAIT_ASSIGN_OR_RETURN(Program program, DecodeKernel(module, kernel.name));
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace

// PTX is a text that ends with a zero; code of another form begins with bytes that no text has.
CUresult DriverCalls::cuLibraryLoadData(CUlibrary* handle, const void* code, CUjit_option*, void**,
                                        unsigned, CUlibraryOption*, void**, unsigned) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  const char* text = static_cast<const char*>(code);
  const auto first = static_cast<unsigned char>(text[0]);
  if (first >= 0x7f || (first < 0x20 && first != '\n')) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  absl::StatusOr<std::vector<Program>> programs = DecodeAll(text);
  if (!programs.ok()) {
    Violation(programs.status());
    return CUDA_ERROR_INVALID_PTX;
  }
  *handle = NextHandle<CUlibrary>();
  LibraryObject& library = libraries_[*handle];
  for (Program& program : *programs) {
    const auto kernel = NextHandle<CUkernel>();
    library.kernels[program.kernel] = kernel;
    kernels_[kernel] = {*handle, {std::make_shared<const Program>(std::move(program)), nullptr}};
  }
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  const auto library = libraries_.find(handle);
  if (library == libraries_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto found = library->second.kernels.find(name);
  if (found == library->second.kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *kernel = found->second;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuLibraryUnload(CUlibrary handle) {
  const auto library = libraries_.find(handle);
  if (library == libraries_.end()) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [name, kernel] : library->second.kernels) kernels_.erase(kernel);
  libraries_.erase(library);
  return CUDA_SUCCESS;
}

// A function has its kernel's handle.
CUresult DriverCalls::cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (kernels_.count(kernel) == 0) return CUDA_ERROR_INVALID_HANDLE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuFuncGetName(const char** name, CUfunction function) {
  const auto found = kernels_.find(reinterpret_cast<CUkernel>(function));
  if (found == kernels_.end()) return CUDA_ERROR_INVALID_HANDLE;
  *name = found->second.code.name().c_str();
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                         CUfunction function) {
  const auto found = kernels_.find(reinterpret_cast<CUkernel>(function));
  if (found == kernels_.end()) return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = SharedBytes(found->second.code);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// By threads and shared memory alone.
CUresult DriverCalls::cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                  int threads,
                                                                  size_t dynamic_bytes) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  const auto found = kernels_.find(reinterpret_cast<CUkernel>(function));
  if (found == kernels_.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (threads < 1 || threads > kThreadsPerBlockMax) return CUDA_ERROR_INVALID_VALUE;
  const DeviceOptions& device = options_.devices[context->device];
  const int whole_warps = (threads + kLanes - 1) / kLanes * kLanes;
  *blocks = std::min(kBlocksPerMultiprocessorMax, device.threads_per_multiprocessor / whole_warps);
  const int bytes = SharedBytes(found->second.code) + static_cast<int>(dynamic_bytes);
  if (bytes > 0) *blocks = std::min(*blocks, kSharedBytesPerMultiprocessor / bytes);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::MakeKernelCommand(CUkernel handle, const LaunchShape& shape,
                                        unsigned shared_bytes, void** arguments,
                                        KernelCommand* command) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  const auto found = kernels_.find(handle);
  if (found == kernels_.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (shared_bytes != 0) return CUDA_ERROR_NOT_SUPPORTED;
  *command = {handle, found->second.code, shape, std::make_shared<KernelArguments>()};
  if (command->code.stand_in != nullptr) {
    return TakeWords(*command->code.stand_in, arguments, command);
  }
  const Program& program = *command->code.program;
  const DeviceOptions& device = options_.devices[context->device];
  if (program.architecture > 10 * device.sm_major + device.sm_minor) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (!CheckShape(program, shape).ok()) return CUDA_ERROR_INVALID_VALUE;
  if (arguments == nullptr && !program.parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
  command->arguments->bytes.resize(static_cast<size_t>(program.parameter_bytes));
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const PlacedParameter& parameter = program.parameters[i];
    std::byte* to = command->arguments->bytes.data() + parameter.offset;
    std::memcpy(to, arguments[i], static_cast<size_t>(parameter.bytes));
    command->arguments->pointers.push_back(to);
  }
  return CUDA_SUCCESS;
}

// Takes a kernel of a library in the place of a function, as the driver does.
CUresult DriverCalls::cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared_bytes, CUstream stream,
                                     void** arguments, void** extra) {
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  KernelCommand command;
  const LaunchShape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}};
  if (const CUresult code = MakeKernelCommand(reinterpret_cast<CUkernel>(function), shape,
                                              shared_bytes, arguments, &command);
      code != CUDA_SUCCESS) {
    return code;
  }
  return Submit(stream, command);
}

}  // namespace plait::simulated_gpu
