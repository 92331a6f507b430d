#include "gpu_worker/backends/cuda/driver/nvml.h"

#include <string>

namespace plait::cuda {
namespace {

// Of nvml.h, which the toolkit need not have.
constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;

}  // namespace

Result<Nvml> Nvml::Open(const std::string& pci_bus_id) {
  const Result<DynamicLibrary> library = DynamicLibrary::Open({"libnvidia-ml.so.1"});
  if (!library.ok()) return library.error();
  const auto init = library.value().Symbol<int()>("nvmlInit_v2");
  const auto find =
      library.value().Symbol<int(const char*, Handle*)>("nvmlDeviceGetHandleByPciBusId_v2");
  const auto clock =
      library.value().Symbol<int(Handle, unsigned, unsigned*)>("nvmlDeviceGetClockInfo");
  const auto power = library.value().Symbol<int(Handle, unsigned*)>("nvmlDeviceGetPowerUsage");
  const auto temperature =
      library.value().Symbol<int(Handle, unsigned, unsigned*)>("nvmlDeviceGetTemperature");
  auto limits = library.value().Symbol<int(Handle, unsigned long long*)>(
      "nvmlDeviceGetCurrentClocksEventReasons");
  if (!limits.ok()) {
    // As drivers before 535 call it.
    limits = library.value().Symbol<int(Handle, unsigned long long*)>(
        "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  if (!init.ok()) return init.error();
  if (!find.ok()) return find.error();
  if (!clock.ok()) return clock.error();
  if (const int code = (*init.value())(); code != 0) {
    return Error{ErrorCode::kUnavailable, "nvmlInit_v2: " + std::to_string(code)};
  }
  Nvml nvml;
  if (const int code = (*find.value())(pci_bus_id.c_str(), &nvml.device_); code != 0) {
    return Error{ErrorCode::kUnavailable,
                 "nvmlDeviceGetHandleByPciBusId_v2: " + std::to_string(code)};
  }
  nvml.clock_ = clock.value();
  if (power.ok()) nvml.power_ = power.value();
  if (temperature.ok()) nvml.temperature_ = temperature.value();
  if (limits.ok()) nvml.clock_limits_ = limits.value();
  return nvml;
}

Result<Nvml::Reading> Nvml::Read() const {
  Reading reading;
  if (const int code = clock_(device_, kClockSm, &reading.sm_mhz); code != 0) {
    return Error{ErrorCode::kDevice, "nvmlDeviceGetClockInfo: " + std::to_string(code)};
  }
  if (clock_(device_, kClockMemory, &reading.memory_mhz) != 0) reading.memory_mhz = 0;
  if (power_ != nullptr && power_(device_, &reading.power_mw) != 0) reading.power_mw = 0;
  if (temperature_ != nullptr &&
      temperature_(device_, kTemperatureGpu, &reading.temperature_c) != 0) {
    reading.temperature_c = 0;
  }
  if (clock_limits_ != nullptr && clock_limits_(device_, &reading.clock_limits) != 0) {
    reading.clock_limits = 0;
  }
  return reading;
}

ClockReader NvmlClock(const std::string& pci_bus_id) {
  const Result<Nvml> nvml = Nvml::Open(pci_bus_id);
  if (!nvml.ok()) return nullptr;
  return [nvml = nvml.value()]() -> Result<ClockReading> {
    const Result<Nvml::Reading> reading = nvml.Read();
    if (!reading.ok()) return reading.error();
    return ClockReading{reading.value().sm_mhz, reading.value().clock_limits};
  };
}

}  // namespace plait::cuda
