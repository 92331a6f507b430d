#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"

namespace plait {

// A change of format; the kernel has no nodes and its two places are the same tensor.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadReorder(LoadContext* context) {
  if (!context->kernel().nodes.empty() || context->places().size() != 2) return context->Refuse();
  const auto& [from, source] = context->places()[0];
  const auto& [to, result] = context->places()[1];
  const TensorType& type = source.type;
  if (to != from || type.elements() == 0) return context->Refuse();
  if (BytesOf(type.dtype) == 4 && type.rank() > 0) {
    return LoadStridedReorder(context, type.shape, {source.data, source.strides()},
                              {result.data, result.strides()});
  }
  auto kernel = std::make_unique<CopyKernel>(context->width());
  kernel->Add(StridedCopy(BytesOf(type.dtype), type.shape, {source.data, source.strides()},
                          {result.data, result.strides()}));
  return kernel;
}

}  // namespace plait
