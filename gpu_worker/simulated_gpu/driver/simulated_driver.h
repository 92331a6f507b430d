#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/driver_library.h"
#include "gpu_worker/simulated_gpu/driver/faults.h"

// The CUDA driver over simulated devices: every function of driver_functions.def, as the manual
// "CUDA Driver API" states it, so that what is written for the driver runs unchanged. A map:
//   simulated_driver.h   what a test sees of it
//   driver_calls.h       the functions, in the files calls_*.cc; driver_table.cc hands them out
//   driver_objects.h     what handles stand for
//   commands.h           what streams and nodes do: kernels, copies, fills
//   faults.h             calls that fail or hang
// What runs, in which order, and what is a race is in ../replay.
//
// It takes PTX and no cubins. Nothing runs before the host waits for it. What a device would do by
// luck, or what only compute-sanitizer would tell, is an error that sticks, and violations() says
// which. What no code of ours asks of a driver is refused with CUDA_ERROR_NOT_SUPPORTED: streams
// that wait for the default stream, captures that are not relaxed, dynamic shared memory, copies of
// more than one row, launches of graphs in a capture.

namespace plait::simulated_gpu {

// Times of its events have no meaning; registers are ptxas's to choose, and are given as 0.
struct DeviceOptions {
  std::string name;
  int sm_major = 9;
  int sm_minor = 0;
  int multiprocessors = 132;
  int threads_per_multiprocessor = 2048;
  int l2_bytes = 50 << 20;
  int64_t memory_bytes = int64_t{4} << 30;
};

struct DriverOptions {
  std::vector<DeviceOptions> devices = {{.name = "simulated sm_90"},
                                        {.name = "simulated sm_80", .sm_major = 8}};
  uint64_t seed = 1;                            // of the orders in which operations run
  int64_t instructions_max = int64_t{1} << 30;  // of a kernel, as LaunchOptions has them
  std::vector<Fault> faults;
};

// Calls that have gone well, of the whole process.
struct DriverCounts {
  int64_t launches_of_graphs = 0;
  int64_t allocations = 0;  // of the device's memory and of pinned memory of the host
  int64_t frees = 0;        // likewise
};

class DriverCalls;

// A driver of this process, which has one at a time, as the functions are the process's. They may
// be called from any thread.
class SimulatedDriver {
 public:
  // REQUIRES: there is no other one.
  explicit SimulatedDriver(DriverOptions options = {});
  // REQUIRES: no function is being called.
  ~SimulatedDriver();
  SimulatedDriver(const SimulatedDriver&) = delete;
  SimulatedDriver& operator=(const SimulatedDriver&) = delete;

  // Valid as long as the process; the functions need a driver.
  const cuda::DriverLibrary& library() const;

  Faults& faults();
  // Of what is launched from here on.
  void SetSeed(uint64_t seed);
  // What was refused although the calls were right, in words.
  std::vector<std::string> violations() const;
  // What has been made and not given back, in words.
  std::vector<std::string> Leaks() const;
  // The operations of a device in the order in which they ended, since the last call.
  std::vector<std::string> TakeTrace(int device);
  DriverCounts counts() const;
  int64_t launches_of_graphs() const { return counts().launches_of_graphs; }

 private:
  std::unique_ptr<DriverCalls> calls_;
};

}  // namespace plait::simulated_gpu
