#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// The device with this index as cuDNN describes it; `present` is true.
// Errors: kUnavailable without cuDNN, a driver or a device; kInternal when the description cannot
// be read.
Result<CudaDevice> DescribeDevice(int device_index = 0);

// An H200, written by hand from its data sheet and the limits of compute capability 9.0, for
// listing and building candidates without a device. `present` is false.
CudaDevice DescribeH200();

// A description from cuDNN's JSON.
// Errors: kInvalid when `json` lacks the compute capability or the number of multiprocessors.
Result<CudaDevice> ParseDeviceDescription(const std::string& json, bool present);

}  // namespace plait::cuda
