#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/dynamic_library.h"
#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// Reads clocks, power and temperature of one device. Changes no setting. Not thread-safe.
class Nvml {
 public:
  struct Reading {
    unsigned sm_mhz = 0;
    unsigned memory_mhz = 0;
    unsigned power_mw = 0;
    unsigned temperature_c = 0;
    // Bits of nvmlClocksEventReasons: what keeps the clock below its highest. 1: nothing runs.
    unsigned long long clock_limits = 0;
  };

  // `pci_bus_id`: of the device, as CUDA names it (DeviceFacts). Errors: kUnavailable without
  // libnvidia-ml.so.1 or the device.
  static Result<Nvml> Open(const std::string& pci_bus_id);

  // Errors: kDevice when no clock can be read; what else cannot be read is 0.
  Result<Reading> Read() const;

 private:
  using Handle = struct nvmlDevice_st*;

  Handle device_ = nullptr;
  int (*clock_)(Handle, unsigned, unsigned*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*temperature_)(Handle, unsigned, unsigned*) = nullptr;
  int (*clock_limits_)(Handle, unsigned long long*) = nullptr;
};

// What a ClockWatch reads of the device. Null where nobody can.
ClockReader NvmlClock(const std::string& pci_bus_id);

}  // namespace plait::cuda
