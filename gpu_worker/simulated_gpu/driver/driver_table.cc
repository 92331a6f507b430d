#include "gpu_worker/simulated_gpu/driver/driver_table.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/status_macros.h"

namespace plait::simulated_gpu {
namespace {

// By the names of driver_functions.def, without cuda.h's renaming.
constexpr const char* kNames[] = {
#define PLAIT_DRIVER_FUNCTION(name) #name,
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION
};

// A context that is broken can be left, and what is no context's goes on.
bool NeedsContext(const std::string& function) {
  static constexpr const char* kFree[] = {
      "cuInit",           "cuDriverGetVersion",       "cuGetErrorName",  "cuGetErrorString",
      "cuDeviceGet",      "cuDeviceGetCount",         "cuDeviceGetName", "cuDeviceGetPCIBusId",
      "cuDeviceTotalMem", "cuDevicePrimaryCtxRelease"};
  return std::find(std::begin(kFree), std::end(kFree), function) == std::end(kFree);
}

cuda::DriverLibrary MakeDriverLibrary() {
  cuda::DriverLibrary library;
  library.takes_ptx = true;
#define PLAIT_DRIVER_FUNCTION(name) \
  library.name = &DriverFunction<&DriverCalls::name, kIndexOf_##name>::Call;
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION
  return library;
}

}  // namespace

DriverCalls*& TheDriver() {
  static DriverCalls* driver = nullptr;
  return driver;
}

CUresult BeginCall(DriverFunctionIndex index, DriverCalls** driver) {
  *driver = TheDriver();
  if (*driver == nullptr) return CUDA_ERROR_DEINITIALIZED;
  const std::string name = kNames[index];
  return (*driver)->faults().Begin(name, NeedsContext(name));
}

SimulatedDriver::SimulatedDriver(DriverOptions options)
    : calls_(std::make_unique<DriverCalls>(std::move(options))) {
  PLAIT_CHECK(TheDriver() == nullptr);
  TheDriver() = calls_.get();
}

SimulatedDriver::~SimulatedDriver() { TheDriver() = nullptr; }

const cuda::DriverLibrary& SimulatedDriver::library() const {
  static const cuda::DriverLibrary library = MakeDriverLibrary();
  return library;
}

Faults& SimulatedDriver::faults() { return calls_->faults(); }

void SimulatedDriver::SetSeed(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(calls_->mutex());
  calls_->SetSeed(seed);
}

std::vector<std::string> SimulatedDriver::violations() const {
  const std::lock_guard<std::mutex> lock(calls_->mutex());
  return calls_->violations();
}

std::vector<std::string> SimulatedDriver::Leaks() const {
  const std::lock_guard<std::mutex> lock(calls_->mutex());
  return calls_->Leaks();
}

std::vector<std::string> SimulatedDriver::TakeTrace(int device) {
  const std::lock_guard<std::mutex> lock(calls_->mutex());
  return calls_->TakeTrace(device);
}

DriverCounts SimulatedDriver::counts() const {
  const std::lock_guard<std::mutex> lock(calls_->mutex());
  return calls_->counts();
}

}  // namespace plait::simulated_gpu
