#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/offers/epilogue.h"
#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"

namespace plait {

// What the families that run oneDNN primitives (conv, matmul, pool, attention, transpose, reorder)
// share.

// A tensor that a primitive reads or writes. The data must outlive the kernel.
struct OnednnArgument {
  int index;  // DNNL_ARG_...
  dnnl_memory_desc_t description;
  const void* data;
};

// A kernel that is one oneDNN primitive. The number of threads is the one that was set while it was
// created (OpenMpWidth).
class OnednnKernel : public CpuKernel {
 public:
  // Errors: Internal; ResourceExhausted when scratch memory does not suffice.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(
      LoadContext* context, const OnednnDescriptor& descriptor,
      absl::Span<const OnednnArgument> arguments);

  absl::Status Run() override;

 private:
  Onednn* onednn_ = nullptr;
  OnednnPrimitive primitive_;
  std::vector<OnednnMemory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// What an epilogue's operations apply to.
struct EpilogueTarget {
  dnnl_memory_desc_t result;  // the primitive's output
  Format format;              // of the tensor that it is
  int channel_axis;           // an axis of `result`
};

// Appends `operations` to `post_operations`, and what they read to `arguments`. What the offers
// call an operation that follows (elementwise_ops.def, `follows`) is one that is appended here.
// Errors: InvalidArgument (LoadContext::Refuse) for an operand in another format than the target;
// Unimplemented for an activation that oneDNN has not; Internal.
absl::Status AddEpilogue(LoadContext* context, absl::Span<const PostOperation> operations,
                         const EpilogueTarget& target, dnnl_post_ops_t post_operations,
                         std::vector<OnednnArgument>* arguments);

// A kernel that copies four-byte elements between two arrangements of one shape.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadStridedReorder(LoadContext* context,
                                                              const Shape& shape,
                                                              const StridedElements& source,
                                                              const StridedElements& target);

// An empty list of post-operations, and its use.
absl::StatusOr<OnednnPostOperations> NewPostOperations();
absl::Status SetPostOperations(dnnl_primitive_attr_t attributes, dnnl_post_ops_t post_operations);

// Lays row-major float32 values out as `wanted`, among the executable's weights.
// Errors: ResourceExhausted when they do not fit; Internal.
absl::StatusOr<std::byte*> PackWeights(LoadContext* context, const dnnl_memory_desc_t& plain,
                                       const void* values, const dnnl_memory_desc_t& wanted);

}  // namespace plait
