#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

namespace plait::simulated_gpu {

// A problem with its precision and how its operands lie, as a source of candidates takes it.
struct LibraryCase {
  std::string name;
  cuda::Problem problem;
  cuda::Precision precision = cuda::Precision::kStrict;
  cuda::MemoryLayout layout = cuda::MemoryLayout::kNchw;
  cuda::OperandAlignment alignment = {};
  cuda::OperandPitches pitches = {};
};

// The operands of one problem on the device.
struct LibraryOperands {
  cuda::HostOperands host;
  cuda::Operands device;
  std::vector<size_t> output_counts;
  size_t workspace_bytes = 0;
};

// The real runtime on a device of a driver, and what tests need of memory. Calls that fail stop the
// test by PLAIT_CHECK, except where a Status is returned.
class LibraryDevice {
 public:
  // `library` null: the process's driver.
  LibraryDevice(const cuda::DriverLibrary* library, int device);
  ~LibraryDevice();
  LibraryDevice(const LibraryDevice&) = delete;
  LibraryDevice& operator=(const LibraryDevice&) = delete;

  cuda::Runtime& runtime() { return runtime_; }
  cuda::Stream stream() { return stream_; }

  // What a source lists for the device.
  cuda::Result<std::vector<std::unique_ptr<cuda::Candidate>>> Ask(
      const cuda::CandidateSource& source, const LibraryCase& problem) const;
  std::vector<std::unique_ptr<cuda::Candidate>> List(const cuda::CandidateSource& source,
                                                     const LibraryCase& problem);
  // Operands with seeded numbers, at addresses that are aligned as the case says and no better.
  // Outputs are not written.
  LibraryOperands Upload(const LibraryCase& problem, size_t workspace_bytes, uint64_t seed = 1);
  // Waits, and reads the outputs.
  cuda::Result<std::vector<std::vector<float>>> Download(const LibraryCase& problem,
                                                         const LibraryOperands& operands);
  // Prepares, launches in the stream and downloads.
  cuda::Result<std::vector<std::vector<float>>> Run(cuda::Candidate& candidate,
                                                    const LibraryCase& problem,
                                                    const LibraryOperands& operands);
  void* Allocate(size_t bytes, int64_t alignment_bytes = 256);
  // Gives back all that was allocated.
  void Free();

 private:
  void* Place(const std::vector<float>& values, const LibraryCase& problem, int64_t alignment_bytes,
              const cuda::PixelPitch& pitch = {});

  cuda::DriverRuntime runtime_;
  cuda::Stream stream_ = nullptr;
  cuda::CudaDevice device_;
  std::vector<void*> buffers_;
};

// A simulated driver, and in its process the simulated libraries in the place of the real ones.
class SimulatedProcess {
 public:
  explicit SimulatedProcess(DriverOptions options);
  ~SimulatedProcess();
  SimulatedProcess(const SimulatedProcess&) = delete;
  SimulatedProcess& operator=(const SimulatedProcess&) = delete;

  SimulatedDriver& driver() { return driver_; }

 private:
  SimulatedDriver driver_;
};

class LibraryFixture : private SimulatedProcess, public LibraryDevice {
 public:
  explicit LibraryFixture(DriverOptions options = {}, int device = 0)
      : SimulatedProcess(std::move(options)), LibraryDevice(&driver().library(), device) {}

  using SimulatedProcess::driver;
};

// Convolutions, products, attention, pooling, norms and scales of small and odd sizes, in all
// precisions and both layouts, aligned well and badly: those that libraries are asked for.
std::vector<LibraryCase> LibraryCases();

}  // namespace plait::simulated_gpu
