#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

namespace plait::simulated_gpu {

// Buffers of tests have as many words, and launches as many threads: two blocks of 32.
inline constexpr int kWords = 64;

// A module of small kernels, written by hand for sm_80 and later ones.
//   mix(x, y, z)           z = 3 x + y
//   work(x, y, z, w)       w = x, then z = 3 w + y
//   beyond(x)              stores behind the end of x
//   endless(x)
std::string KernelsOfTests();

// The same for programmatic launch, for sm_90:
//   produce(x, y)          triggers, then y = 3 x
//   consume(x, c, z)       loads c, waits, then z = 3 c + x
//   hasty(x, c, z)         the same without waiting
//   greedy(x, c, z)        loads x before it waits
std::string KernelsWithTriggers();

// The real runtime on a device of a simulated driver, with a stream and what tests need of memory.
// Everything is given back at its end. Calls that fail stop the test by PLAIT_CHECK, except where a
// Status is returned.
class DriverFixture {
 public:
  explicit DriverFixture(DriverOptions options = {}, int device = 0);
  ~DriverFixture();

  SimulatedDriver& driver() { return driver_; }
  cuda::Runtime& runtime() { return runtime_; }
  cuda::Stream stream() { return stream_; }

  cuda::Kernel Kernel(const std::string& text, const char* name);
  void* Buffer(int words = kWords);
  void Upload(void* to, const std::vector<uint32_t>& words);
  cuda::Result<std::vector<uint32_t>> Download(const void* from);
  // Enqueues a launch of 64 threads; every argument is an address.
  cuda::Status Launch(cuda::Kernel kernel, std::vector<void*> arguments, cuda::Stream stream);

 private:
  SimulatedDriver driver_;
  cuda::DriverRuntime runtime_;
  cuda::Stream stream_ = nullptr;
  std::vector<std::pair<std::string, cuda::Library>> libraries_;
  std::vector<void*> buffers_;
};

}  // namespace plait::simulated_gpu
