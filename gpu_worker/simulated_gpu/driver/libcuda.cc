#include "gpu_worker/simulated_gpu/driver/driver_table.h"

// The simulated driver as a libcuda.so.1, for programs that open the driver by its name: the
// functions of driver_functions.def by the names that cuda.h gives them, over two devices. An
// indirect function takes its type from cuda.h and its address from the table's template, so that
// nothing is written twice.

namespace plait::simulated_gpu {
namespace {

const SimulatedDriver kDriver;

}  // namespace
}  // namespace plait::simulated_gpu

#define PLAIT_EXPORT __attribute__((visibility("default")))

extern "C" {

// By which DriverLibrary knows a simulated driver.
PLAIT_EXPORT int plait_takes_ptx() { return 1; }

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
}
