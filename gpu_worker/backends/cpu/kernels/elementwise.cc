#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/tile_program_kernel.h"

namespace plait {

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadElementwise(LoadContext* context) {
  PLAIT_ASSIGN_OR_RETURN(TileProgram program, CompileTileProgram(context));
  auto kernel = std::make_unique<TileProgramKernel>(context->width(), std::move(program));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

}  // namespace plait
