#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"
#include "gpu_worker/simulated_gpu/driver/driver_table.h"
#include "gpu_worker/simulated_gpu/libraries/faults_from_text.h"

// The simulated driver as a libcuda.so.1, for programs that open the driver by its name, over two
// devices, and the simulated libraries as libcudnn.so.9 and libcublasLt.so.13: the same file by
// three names, so that whoever opens them has one object with one state. An indirect function takes
// its type from the library's header and its address from a table's template, so that nothing is
// written twice.

namespace plait::simulated_gpu {
namespace {

// PLAIT_SIMULATED_FAULTS says what goes wrong, for programs that cannot be told otherwise.
DriverOptions OptionsOfProcess() {
  DriverOptions options;
  const char* text = std::getenv("PLAIT_SIMULATED_FAULTS");
  if (text == nullptr) return options;
  absl::StatusOr<std::vector<Fault>> faults = FaultsFromText(text);
  if (!faults.ok()) {
    std::fprintf(stderr, "PLAIT_SIMULATED_FAULTS: %s\n", faults.status().ToString().c_str());
    std::abort();
  }
  options.faults = *std::move(faults);
  return options;
}

SimulatedDriver& DriverOfProcess() {
  static SimulatedDriver driver(OptionsOfProcess());
  driver.faults().TellEach();
  return driver;
}

const SimulatedDriver& kDriver = DriverOfProcess();

}  // namespace
}  // namespace plait::simulated_gpu

#define PLAIT_EXPORT __attribute__((visibility("default")))

extern "C" {

// By which DriverLibrary knows a simulated driver.
PLAIT_EXPORT int plait_takes_ptx() { return 1; }

// NVRTC asks the process's driver for tables that no manual describes, and reads through a null
// pointer where a driver lacks even the function. There are none here.
PLAIT_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* /*id*/) {
  *table = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

#define PLAIT_DRIVER_FUNCTION(name)                                    \
  static decltype(&::name) plait_resolve_##name() {                    \
    using plait::simulated_gpu::DriverCalls;                           \
    using plait::simulated_gpu::DriverFunction;                        \
    using plait::simulated_gpu::kIndexOf_##name;                       \
    return &DriverFunction<&DriverCalls::name, kIndexOf_##name>::Call; \
  }                                                                    \
  PLAIT_EXPORT decltype(::name) name __attribute__((ifunc("plait_resolve_" #name)));
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION

#define PLAIT_LIBRARY_FUNCTION(Calls, name, needs_context)                             \
  static decltype(&::name) plait_resolve_##name() {                                    \
    using plait::simulated_gpu::Calls;                                                 \
    using plait::simulated_gpu::kNameOf_##name;                                        \
    using plait::simulated_gpu::LibraryFunction;                                       \
    return &LibraryFunction<Calls, &Calls::name, kNameOf_##name, needs_context>::Call; \
  }                                                                                    \
  PLAIT_EXPORT decltype(::name) name __attribute__((ifunc("plait_resolve_" #name)));

#define PLAIT_CUDNN_FUNCTION(name, member, needs_context) \
  PLAIT_LIBRARY_FUNCTION(CudnnCalls, name, needs_context)
#include "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def"
#undef PLAIT_CUDNN_FUNCTION

#define PLAIT_CUBLASLT_FUNCTION(name, member, needs_context) \
  PLAIT_LIBRARY_FUNCTION(CublasLtCalls, name, needs_context)
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def"
#undef PLAIT_CUBLASLT_FUNCTION
}
