#include "gpu_worker/backends/cpu/onednn/onednn.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "optimizer/kernels/format_rules.h"

// Only the C interface is used, with all calls checked: its errors are values, as ours are. Handles
// are owned from the moment they are made, so that an early return leaks nothing.
namespace plait {

absl::Status OnednnStatus(dnnl_status_t status, absl::string_view what) {
  switch (status) {
    case dnnl_success:
      return absl::OkStatus();
    case dnnl_unimplemented:
      return absl::UnimplementedError(absl::StrCat("oneDNN: no implementation of ", what));
    // Numbers that a model may have and the library does not take.
    case dnnl_invalid_arguments:
      return absl::UnimplementedError(absl::StrCat("oneDNN: refuses the numbers of ", what));
    case dnnl_out_of_memory:
      return absl::ResourceExhaustedError(absl::StrCat("oneDNN: out of memory in ", what));
    default:
      return absl::InternalError(absl::StrCat("oneDNN: ", what, " failed with status ", status));
  }
}

std::string OnednnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return absl::StrCat(version->major, ".", version->minor, ".", version->patch);
}

// The library takes the first limit that it is given, and none once it has looked at the limit.
absl::Status LimitOnednn(InstructionSet best) {
  constexpr dnnl_cpu_isa_t kLimits[] = {dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2,
                                        dnnl_cpu_isa_avx512_core, dnnl_cpu_isa_avx512_core_bf16,
                                        dnnl_cpu_isa_all};
  const dnnl_cpu_isa_t wanted = kLimits[static_cast<int>(best)];
  if (dnnl_set_max_cpu_isa(wanted) == dnnl_success) return absl::OkStatus();
  // No limit is none to have gone beyond, though its number is the smallest.
  if (wanted == dnnl_cpu_isa_all || dnnl_get_effective_cpu_isa() <= wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("oneDNN already uses better instructions than ",
                                                    InstructionSetName(best),
                                                    ": one process cannot have two limits"));
}

absl::StatusOr<std::unique_ptr<Onednn>> Onednn::Create() {
  PLAIT_RETURN_IF_ERROR(OpenOnednn());
  auto onednn = std::make_unique<Onednn>();
  dnnl_engine_t engine = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine"));
  onednn->engine_.reset(engine);
  dnnl_stream_t stream = nullptr;
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream"));
  onednn->stream_.reset(stream);
  return onednn;
}

namespace {

using Iterator = OnednnHandle<dnnl_primitive_desc_iterator_t, dnnl_primitive_desc_iterator_destroy>;

// Whether a list has an operation that reads a tensor of several images or pixels.
bool ReadsImagesOrPixels(const_dnnl_primitive_attr_t attributes) {
  const_dnnl_post_ops_t operations = nullptr;
  if (dnnl_primitive_attr_get_post_ops(attributes, &operations) != dnnl_success) return false;
  for (int i = 0; i < dnnl_post_ops_len(operations); ++i) {
    if (dnnl_post_ops_get_kind(operations, i) != dnnl_binary) continue;
    dnnl_alg_kind_t algorithm;
    const dnnl_memory_desc_t* operand = nullptr;
    dnnl_post_ops_get_params_binary(operations, i, &algorithm, &operand);
    if (operand->dims[0] > 1) return true;
    for (int axis = 2; axis < operand->ndims; ++axis) {
      if (operand->dims[axis] > 1) return true;
    }
  }
  return false;
}

// The convolution by matrix products reads such tensors as if they were row-major, in channels-last
// too, and takes one pixel's number for another's; of several images it takes one's for another's.
bool IsWrong(const_dnnl_primitive_desc_t descriptor, const_dnnl_primitive_attr_t attributes) {
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl_primitive_desc_query(descriptor, dnnl_query_primitive_kind, 0, &kind);
  return kind == dnnl_convolution && IsMatrixProduct(descriptor) && ReadsImagesOrPixels(attributes);
}

}  // namespace

bool IsMatrixProduct(const_dnnl_primitive_desc_t descriptor) {
  return ImplementationOf(descriptor).find("gemm") != absl::string_view::npos;
}

// The library's choice is its first implementation. The last argument of the call is a hint from a
// forward pass, which only training has.
absl::StatusOr<OnednnDescriptor> Onednn::Describe(const_dnnl_op_desc_t operation,
                                                  dnnl_primitive_attr_t attributes) const {
  dnnl_primitive_desc_iterator_t created = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(
      dnnl_primitive_desc_iterator_create(&created, operation, attributes, engine(), nullptr),
      "the operation"));
  const Iterator iterator(created);
  do {
    OnednnDescriptor descriptor(dnnl_primitive_desc_iterator_fetch(iterator.get()));
    if (!IsWrong(descriptor.get(), attributes)) return descriptor;
  } while (dnnl_primitive_desc_iterator_next(iterator.get()) == dnnl_success);
  return OnednnStatus(dnnl_unimplemented, "the operation");
}

// Everything is made for this one call: weights are packed once, and no two are alike for sure.
absl::Status Onednn::Reorder(const dnnl_memory_desc_t& from, const void* source,
                             const dnnl_memory_desc_t& to, void* target) const {
  dnnl_primitive_desc_t descriptor = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(
      dnnl_reorder_primitive_desc_create(&descriptor, &from, engine(), &to, engine(), nullptr),
      "reorder"));
  const OnednnDescriptor owned_descriptor(descriptor);
  dnnl_primitive_t primitive = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(dnnl_primitive_create(&primitive, descriptor), "reorder"));
  const OnednnPrimitive owned_primitive(primitive);
  dnnl_memory_t source_memory = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(
      dnnl_memory_create(&source_memory, &from, engine(), const_cast<void*>(source)), "memory"));
  const OnednnMemory owned_source(source_memory);
  dnnl_memory_t target_memory = nullptr;
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_memory_create(&target_memory, &to, engine(), target), "memory"));
  const OnednnMemory owned_target(target_memory);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, source_memory},
                                       {DNNL_ARG_TO, target_memory}};
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_primitive_execute(primitive, stream(), 2, arguments), "reorder"));
  // The memory may be read right after, by code that knows nothing of streams.
  return OnednnStatus(dnnl_stream_wait(stream()), "reorder");
}

// In the user's mode scratch memory is an argument of the primitive like any other; its size is
// what ChosenDescription says of DNNL_ARG_SCRATCHPAD.
absl::StatusOr<OnednnAttributes> NewOnednnAttributes() {
  dnnl_primitive_attr_t attributes = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(dnnl_primitive_attr_create(&attributes), "attributes"));
  OnednnAttributes owned(attributes);
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
                   "scratchpad"));
  return owned;
}

absl::StatusOr<dnnl_memory_desc_t> DescribeStrided(const Shape& shape, const Shape& strides) {
  dnnl_memory_desc_t description;
  dnnl_dims_t dims = {};
  dnnl_dims_t steps = {};
  if (shape.size() > DNNL_MAX_NDIMS) return absl::UnimplementedError("oneDNN: too many dimensions");
  // The library copies fixed arrays; what is behind the rank stays 0.
  std::copy(shape.begin(), shape.end(), dims);
  std::copy(strides.begin(), strides.end(), steps);
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_memory_desc_init_by_strides(&description, static_cast<int>(shape.size()),
                                                    dims, dnnl_f32, steps),
                   "description"));
  return description;
}

absl::StatusOr<dnnl_memory_desc_t> DescribeTensor(const Shape& shape, Format format) {
  return DescribeStrided(shape, StridesOf(TensorType{DataType::kFloat32, shape}, format));
}

absl::StatusOr<dnnl_memory_desc_t> DescribeAny(const Shape& shape) {
  dnnl_memory_desc_t description;
  dnnl_dims_t dims = {};
  if (shape.size() > DNNL_MAX_NDIMS) return absl::UnimplementedError("oneDNN: too many dimensions");
  std::copy(shape.begin(), shape.end(), dims);
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_memory_desc_init_by_tag(&description, static_cast<int>(shape.size()), dims,
                                                dnnl_f32, dnnl_format_tag_any),
                   "description"));
  return description;
}

absl::string_view ImplementationOf(const_dnnl_primitive_desc_t descriptor) {
  const char* name = "";
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
  return name;
}

dnnl_memory_desc_t ChosenDescription(const OnednnDescriptor& descriptor, int argument) {
  return *dnnl_primitive_desc_query_md(descriptor.get(), dnnl_query_exec_arg_md, argument);
}

}  // namespace plait
