#pragma once

#include <functional>

#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// What a CUDA graph of one kernel takes between two events, behind `evict`, beyond what a kernel
// takes in a graph of many: measured with a kernel that does nothing, within some milliseconds.
// Errors: kUnavailable without NVRTC; kDevice.
Result<double> MeasureGraphStartUs(Runtime* runtime, const DeviceFacts& facts, Stream stream,
                                   const std::function<Status(Stream)>& evict);

}  // namespace plait::cuda
