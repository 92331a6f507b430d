#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/tile_program_kernel.h"

namespace plait {
namespace {

// Every thread has columns, in tiles short enough that the values of some steps stay in the caches.
int64_t TileElements(const TileProgram& program, int width) {
  constexpr int64_t kLongest = 256;
  constexpr int64_t kVector = 16;
  const int64_t columns = program.results.front().memory.type.elements();
  return std::min(kLongest, CeilDiv(CeilDiv(columns, width), kVector) * kVector);
}

}  // namespace

// Rows are computed as one program, so that a step costs its instructions and no launch, and its
// values stay where the next step finds them.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadRecurrence(LoadContext* context) {
  PLAIT_ASSIGN_OR_RETURN(TileProgram program, CompileRowProgram(context));
  if (program.results.empty()) return context->Refuse();
  const int64_t tile_elements = TileElements(program, context->width());
  auto kernel =
      std::make_unique<TileProgramKernel>(context->width(), std::move(program), tile_elements);
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

}  // namespace plait
