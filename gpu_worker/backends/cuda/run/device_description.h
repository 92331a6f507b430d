#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// The device with this index as cuDNN describes it; `present` is true.
// Errors: kUnavailable without cuDNN, a driver or a device; kInternal when the description cannot
// be read.
Result<CudaDevice> DescribeDevice(int device_index = 0);

// The device of `runtime`, which is present: its compute capability and multiprocessors as the
// runtime says, whatever else describes it. `described` is what cuDNN says (DescribeDevice); where
// that failed, `json` is empty, and cuDNN, which is missing then, has no candidates.
CudaDevice PresentDevice(Runtime* runtime, const DeviceFacts& facts,
                         const Result<CudaDevice>& described);

// An H200, written by hand from its data sheet and the limits of compute capability 9.0, for
// listing and building candidates without a device. `present` is false.
CudaDevice DescribeH200();

// A description from cuDNN's JSON.
// Errors: kInvalid when `json` lacks the compute capability or the number of multiprocessors.
Result<CudaDevice> ParseDeviceDescription(const std::string& json, bool present);

}  // namespace plait::cuda
