#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "oneapi/dnnl/dnnl.h"
#include "optimizer/ir/tensor_type.h"
#include "optimizer/kernels/format.h"

namespace plait {

// Ownership for the handles of oneDNN's C interface, which reports errors by value: its C++
// interface throws, and nothing of ours does.
template <typename Handle, dnnl_status_t (*destroy)(Handle)>
struct OnednnDeleter {
  void operator()(std::remove_pointer_t<Handle>* handle) const { destroy(handle); }
};
template <typename Handle, dnnl_status_t (*destroy)(Handle)>
using OnednnHandle = std::unique_ptr<std::remove_pointer_t<Handle>, OnednnDeleter<Handle, destroy>>;

using OnednnEngine = OnednnHandle<dnnl_engine_t, dnnl_engine_destroy>;
using OnednnStream = OnednnHandle<dnnl_stream_t, dnnl_stream_destroy>;
using OnednnMemory = OnednnHandle<dnnl_memory_t, dnnl_memory_destroy>;
using OnednnPrimitive = OnednnHandle<dnnl_primitive_t, dnnl_primitive_destroy>;
using OnednnDescriptor = OnednnHandle<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using OnednnAttributes = OnednnHandle<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using OnednnPostOperations = OnednnHandle<dnnl_post_ops_t, dnnl_post_ops_destroy>;

// OK, or what oneDNN said about `what`: Unimplemented, ResourceExhausted or Internal.
// Unimplemented means that the library has no code for this operation on this processor or does not
// take its numbers, which is an answer and not a fault: the kernel is then not used.
absl::Status OnednnStatus(dnnl_status_t status, absl::string_view what);

// "2.6.3", for device fingerprints.
std::string OnednnVersion();

// Whether the implementation is one by matrix products: it takes some tensors for others, and its
// threads wait for each other by watching memory (OpenMpWaitScope).
bool IsMatrixProduct(const_dnnl_primitive_desc_t descriptor);

// Lets the library use no better instructions than these, in the whole process.
// REQUIRES, as OnednnVersion: OpenOnednn has succeeded. Errors: FailedPrecondition when it has
// begun to use others.
absl::Status LimitOnednn(InstructionSet best);

// The library's engine and stream for this processor. Primitives keep the TeamWidth() under which
// they were created, so it must be a kernel's width.
// Not thread-safe, but for Execute, which holds no state between primitives.
//
// Creating a primitive generates machine code: the 53 convolutions of ResNet-50 take 0.6 s on one
// thread, running them 35 ms. So primitives are created while a plan loads and never in a run. The
// library's parallel regions run on the team of whoever calls (../team/openmp.h).
class Onednn {
 public:
  // Errors: those of OpenOnednn; Internal when the library has no engine for the processor.
  static absl::StatusOr<std::unique_ptr<Onednn>> Create();

  // Both stay the object's own.
  dnnl_engine_t engine() const { return engine_.get(); }
  dnnl_stream_t stream() const { return stream_.get(); }

  // An operation's descriptor; it picks the implementation. `operation` must outlive it.
  // Errors: Unimplemented when no implementation fits; ResourceExhausted; Internal.
  absl::StatusOr<OnednnDescriptor> Describe(const_dnnl_op_desc_t operation,
                                            dnnl_primitive_attr_t attributes) const;

  // Copies elements between descriptions of the same shape, now.
  // For packing weights, at load time; a reorder within a plan is a kernel with its own primitive.
  // Errors: as Describe.
  absl::Status Reorder(const dnnl_memory_desc_t& from, const void* source,
                       const dnnl_memory_desc_t& to, void* target) const;

 private:
  OnednnEngine engine_;
  OnednnStream stream_;
};

// Attributes for inference: scratch memory is ours, so that Run allocates none. Left to itself the
// library allocates it out of our sight; a region per lane serves all kernels of the lane, because
// no two of them run at the same time.
absl::StatusOr<OnednnAttributes> NewOnednnAttributes();

// A float32 tensor of `shape` with these strides, in elements.
// Errors: Unimplemented for more dimensions than the library knows; Internal.
absl::StatusOr<dnnl_memory_desc_t> DescribeStrided(const Shape& shape, const Shape& strides);

// A float32 tensor in a format; channels-last takes its strides even where a dimension is 1.
absl::StatusOr<dnnl_memory_desc_t> DescribeTensor(const Shape& shape, Format format);

// A float32 tensor whose format oneDNN may choose.
// The choice is read with ChosenDescription, and PackWeights lays the values out so.
absl::StatusOr<dnnl_memory_desc_t> DescribeAny(const Shape& shape);

// The name of the implementation that was chosen, such as "brg:avx512_core".
absl::string_view ImplementationOf(const_dnnl_primitive_desc_t descriptor);

// What a primitive descriptor chose for an argument (DNNL_ARG_WEIGHTS, DNNL_ARG_SCRATCHPAD, ...).
dnnl_memory_desc_t ChosenDescription(const OnednnDescriptor& descriptor, int argument);

}  // namespace plait
