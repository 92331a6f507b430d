#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <cuda.h>

#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"
#include "gpu_worker/simulated_gpu/stand_in.h"

// What the simulated libraries, ../cudnn and ../cublaslt, have of the driver: its faults, and one
// kernel per call in a stream. All are about the one SimulatedDriver of the process and may be
// called from any thread.

namespace plait::simulated_gpu {

// What every call of a library does first: hangs or fails where it is to, by the function's name as
// Fault has it. After a sticky fault everything fails that `needs_context`. Returns
// CUDA_ERROR_DEINITIALIZED if it needs one and there is no driver.
CUresult BeginLibraryCall(const char* function, bool needs_context);

// The device whose context is current in this thread. Errors: CUDA_ERROR_INVALID_CONTEXT where a
// library would take the first device, which may be another one than is meant.
CUresult CurrentDevice(int* device);

// Whether the stream is of the current context.
CUresult CheckStream(CUstream stream);

// The options of a device. Errors: CUDA_ERROR_INVALID_DEVICE.
CUresult OptionsOf(int device, DeviceOptions* options);

// A kernel that is there until it is unloaded, or as long as the driver. Of a name that is loaded
// already, `shared` gives the same one again.
CUresult LoadStandIn(std::shared_ptr<const StandIn> stand_in, bool shared, CUkernel* kernel);
// What is launched afterwards with it, in a graph too, is a sticky error. Nothing happens if the
// driver that loaded it is gone.
void UnloadStandIn(CUkernel kernel, const StandIn* stand_in);

// One operation of the stream, or one node where it is captured.
CUresult LaunchStandIn(CUkernel kernel, absl::Span<const uint64_t> arguments, CUstream stream);

// The name of a code of the driver, "CUDA_ERROR_UNKNOWN".
std::string NameOf(CUresult code);

}  // namespace plait::simulated_gpu
