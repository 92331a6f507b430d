#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"

#include "gpu_worker/simulated_gpu/cudnn/cudnn_state.h"

namespace plait::simulated_gpu {
namespace {

constexpr size_t kCudnnFunctions = 0
#define PLAIT_CUDNN_FUNCTION(name, member, needs_context) +1
#include "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def"
#undef PLAIT_CUDNN_FUNCTION
    ;
static_assert(sizeof(cuda::CudnnLibrary) == kCudnnFunctions * sizeof(void*),
              "the list has to have all functions that plait loads");

cuda::CudnnLibrary MakeCudnnLibrary() {
  cuda::CudnnLibrary library;
#define PLAIT_CUDNN_FUNCTION(name, member, needs_context) \
  library.member =                                        \
      &LibraryFunction<CudnnCalls, &CudnnCalls::name, kNameOf_##name, needs_context>::Call;
#include "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def"
#undef PLAIT_CUDNN_FUNCTION
  return library;
}

}  // namespace

const cuda::CudnnLibrary& SimulatedCudnn() {
  static const cuda::CudnnLibrary library = MakeCudnnLibrary();
  return library;
}

int LiveCudnnDescriptors() {
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return static_cast<int>(state.descriptors.size());
}

}  // namespace plait::simulated_gpu
