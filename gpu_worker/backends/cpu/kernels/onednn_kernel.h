#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "gpu_worker/backends/groups/epilogue.h"

namespace plait {

// What the families that run oneDNN primitives (conv, matmul, pool, attention, transpose, reorder)
// share.

// A tensor that a primitive reads or writes. The data must outlive the kernel.
// The description is a value; the kernel's memory object keeps a copy.
struct OnednnArgument {
  int index;  // DNNL_ARG_...
  dnnl_memory_desc_t description;
  const void* data;
};

// A kernel that is one oneDNN primitive. The number of threads is the one that was set while it was
// created (TeamWidthScope).
//
// Everything that can be decided before a run is: the machine code is generated, the arguments are
// bound to their addresses, scratch memory is assigned. A run is one call.
class OnednnKernel : public CpuKernel {
 public:
  // `arguments` are all but the scratchpad, which is added here from the executable's.
  // Errors: Internal; ResourceExhausted when scratch memory does not suffice.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(
      LoadContext* context, const OnednnDescriptor& descriptor,
      absl::Span<const OnednnArgument> arguments);

  absl::Status Run() override;

 private:
  Onednn* onednn_ = nullptr;
  OnednnPrimitive primitive_;
  bool do_threads_wait_ = false;  // see OpenMpWaitScope
  std::vector<OnednnMemory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// What an epilogue's operations apply to.
// Operands of the result's shape are described as the result is, so that they must lie as it does;
// per-channel operands are described as vectors along `channel_axis`.
struct EpilogueTarget {
  dnnl_memory_desc_t result;  // the primitive's output
  Format format;              // of the tensor that it is
  int channel_axis;           // an axis of `result`
};

// Appends `operations` to `post_operations`, and what they read to `arguments`. What the offers
// call an operation that follows (elementwise_ops.def, `follows`) is one that is appended here.
// As a rule post-operations are applied to each block of the result while it is still in registers
// or close to them: the result is written once, where a kernel per node would write and read it
// again for each. Their order is that of the list. `post_operations` may hold some already; an
// argument is bound to its operation by the operation's place in the list.
// Errors: InvalidArgument (LoadContext::Refuse) for an operand in another format than the target;
// Unimplemented for an activation that oneDNN has not; Internal.
absl::Status AddEpilogue(LoadContext* context, absl::Span<const PostOperation> operations,
                         const EpilogueTarget& target, dnnl_post_ops_t post_operations,
                         std::vector<OnednnArgument>* arguments);

// A kernel that copies four-byte elements between two arrangements of one shape.
// Distances are in elements and bytes are copied as float32, whatever they mean: a reorder between
// equal types changes no bits. Transposes walk both sides in blocks, so that neither is read or
// written an element per cache line.
// Errors: those of DescribeStrided and of OnednnKernel::Create.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadStridedReorder(LoadContext* context,
                                                              const Shape& shape,
                                                              const StridedElements& source,
                                                              const StridedElements& target);

// An empty list of post-operations, and its use.
// Attributes copy the list, so that it may go once it is set.
// Errors: ResourceExhausted; Internal.
absl::StatusOr<OnednnPostOperations> NewPostOperations();
absl::Status SetPostOperations(dnnl_primitive_attr_t attributes, dnnl_post_ops_t post_operations);

// Lays a row-major float32 constant out as `wanted`, among the executable's weights, unless another
// executable has done so.
// `plain` and `wanted` describe one shape. As a rule packed weights are blocked by the vector
// width, with the innermost block in the order in which the kernel multiplies: it reads them front
// to back with whole vectors, and padding to whole blocks leaves it no remainders. Costs one pass
// at load time.
// Errors: ResourceExhausted when they do not fit; Internal; those of ConstantValue.
absl::StatusOr<std::byte*> PackWeights(LoadContext* context, const dnnl_memory_desc_t& plain,
                                       TensorId constant, const dnnl_memory_desc_t& wanted);

}  // namespace plait
