#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"

#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_state.h"

namespace plait::simulated_gpu {
namespace {

constexpr size_t kCublasLtFunctions = 0
#define PLAIT_CUBLASLT_FUNCTION(name, member, needs_context) +1
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def"
#undef PLAIT_CUBLASLT_FUNCTION
    ;
static_assert(sizeof(cuda::CublasLtLibrary) == kCublasLtFunctions * sizeof(void*),
              "the list has to have all functions that plait loads");

cuda::CublasLtLibrary MakeCublasLtLibrary() {
  cuda::CublasLtLibrary library;
#define PLAIT_CUBLASLT_FUNCTION(name, member, needs_context) \
  library.member =                                           \
      &LibraryFunction<CublasLtCalls, &CublasLtCalls::name, kNameOf_##name, needs_context>::Call;
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def"
#undef PLAIT_CUBLASLT_FUNCTION
  return library;
}

}  // namespace

const cuda::CublasLtLibrary& SimulatedCublasLt() {
  static const cuda::CublasLtLibrary library = MakeCublasLtLibrary();
  return library;
}

int LiveCublasLtObjects() {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return static_cast<int>(state.operations.size() + state.layouts.size() +
                          state.preferences.size());
}

}  // namespace plait::simulated_gpu
