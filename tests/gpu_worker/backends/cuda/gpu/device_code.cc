#include "tests/gpu_worker/backends/cuda/gpu/device_code.h"

#include "gpu_worker/backends/cuda/driver/nvrtc.h"

namespace plait::cuda {

Result<std::string> CompileForDevice(Runtime& runtime, const DeviceFacts& facts,
                                     const std::string& source) {
  if (runtime.TakesPtx()) return CompileToPtx(source, "compute_90");
  return CompileToCubin(source, ArchitectureOf(facts.sm_major, facts.sm_minor));
}

}  // namespace plait::cuda
