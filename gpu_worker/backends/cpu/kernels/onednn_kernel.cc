#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/openmp.h"

namespace plait {
namespace {

absl::Status Append(dnnl_post_ops_t operations, dnnl_alg_kind_t algorithm, float alpha,
                    float beta) {
  return OnednnStatus(dnnl_post_ops_append_eltwise(operations, 1.0f, algorithm, alpha, beta),
                      "post-operation");
}

// HardSigmoid is a line and then a clip, because oneDNN 2.6 has no algorithm of that name. Infinite
// bounds of Clip become the largest floats.
absl::Status AppendActivation(dnnl_post_ops_t operations, const PostOperation& operation) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  switch (operation.op) {
    case OpKind::kRelu:
      return Append(operations, dnnl_eltwise_relu, 0, 0);
    case OpKind::kLeakyRelu:
      return Append(operations, dnnl_eltwise_relu, operation.alpha, 0);
    case OpKind::kElu:
      return Append(operations, dnnl_eltwise_elu, operation.alpha, 0);
    case OpKind::kSigmoid:
      return Append(operations, dnnl_eltwise_logistic, 0, 0);
    case OpKind::kTanh:
      return Append(operations, dnnl_eltwise_tanh, 0, 0);
    case OpKind::kAbs:
      return Append(operations, dnnl_eltwise_abs, 0, 0);
    case OpKind::kSwish:
      return Append(operations, dnnl_eltwise_swish, operation.alpha, 0);
    case OpKind::kMish:
      return Append(operations, dnnl_eltwise_mish, 0, 0);
    case OpKind::kHardSwish:
      return Append(operations, dnnl_eltwise_hardswish, 0, 0);
    case OpKind::kGelu:
      return Append(operations,
                    operation.alpha == 0 ? dnnl_eltwise_gelu_erf : dnnl_eltwise_gelu_tanh, 0, 0);
    case OpKind::kClip:
      return Append(operations, dnnl_eltwise_clip, std::max(operation.alpha, -kLargest),
                    std::min(operation.beta, kLargest));
    case OpKind::kHardSigmoid:
      PLAIT_RETURN_IF_ERROR(
          Append(operations, dnnl_eltwise_linear, operation.alpha, operation.beta));
      return Append(operations, dnnl_eltwise_clip, 0, 1);
    default:
      return absl::UnimplementedError("oneDNN: no such activation");
  }
}

// One element per channel; axes of size 1 are repeated by the library.
absl::StatusOr<dnnl_memory_desc_t> DescribeChannels(const EpilogueTarget& target) {
  Shape shape(target.result.ndims, 1);
  shape[target.channel_axis] = target.result.dims[target.channel_axis];
  return DescribeTensor(shape, Format::kPlain);
}

// How a description lays numbers out; nullopt where it says more than that, such as sums that
// come with them.
std::optional<Fingerprint> FormOf(const dnnl_memory_desc_t& description) {
  if (description.format_kind != dnnl_blocked || description.extra.flags != 0) return std::nullopt;
  const dnnl_blocking_desc_t& blocking = description.format_desc.blocking;
  FingerprintBuilder builder;
  builder.Add("onednn").Add(static_cast<int>(description.data_type)).Add(description.ndims);
  builder.Add(blocking.inner_nblks);
  for (int axis = 0; axis < description.ndims; ++axis) {
    builder.Add(description.dims[axis]).Add(description.padded_dims[axis]);
    builder.Add(blocking.strides[axis]);
  }
  for (int block = 0; block < blocking.inner_nblks; ++block) {
    builder.Add(blocking.inner_blks[block]).Add(blocking.inner_idxs[block]);
  }
  return builder.Finish();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> OnednnKernel::Create(
    LoadContext* context, const OnednnDescriptor& descriptor,
    absl::Span<const OnednnArgument> arguments) {
  auto kernel = std::make_unique<OnednnKernel>();
  kernel->onednn_ = context->onednn();
  dnnl_primitive_t primitive = nullptr;
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_primitive_create(&primitive, descriptor.get()), "primitive"));
  kernel->primitive_.reset(primitive);
  kernel->do_threads_wait_ = IsMatrixProduct(descriptor.get());
  std::vector<OnednnArgument> all(arguments.begin(), arguments.end());
  const dnnl_memory_desc_t scratch = ChosenDescription(descriptor, DNNL_ARG_SCRATCHPAD);
  if (const size_t bytes = dnnl_memory_desc_get_size(&scratch); bytes > 0) {
    PLAIT_ASSIGN_OR_RETURN(const std::byte* const data,
                           context->AllocateScratch(static_cast<int64_t>(bytes)));
    all.push_back({DNNL_ARG_SCRATCHPAD, scratch, data});
  }
  for (const OnednnArgument& argument : all) {
    dnnl_memory_t memory = nullptr;
    PLAIT_RETURN_IF_ERROR(
        OnednnStatus(dnnl_memory_create(&memory, &argument.description, context->onednn()->engine(),
                                        const_cast<void*>(argument.data)),
                     "memory"));
    kernel->memories_.emplace_back(memory);
    kernel->arguments_.push_back({argument.index, memory});
  }
  return kernel;
}

// A CPU stream is executed by the calling thread and its team: when the call returns, all is done.
absl::Status OnednnKernel::Run() {
  std::optional<OpenMpWaitScope> waits;
  if (do_threads_wait_) waits.emplace();
  return OnednnStatus(
      dnnl_primitive_execute(primitive_.get(), onednn_->stream(),
                             static_cast<int>(arguments_.size()), arguments_.data()),
      "execution");
}

absl::Status AddEpilogue(LoadContext* context, absl::Span<const PostOperation> operations,
                         const EpilogueTarget& target, dnnl_post_ops_t post_operations,
                         std::vector<OnednnArgument>* arguments) {
  for (const PostOperation& operation : operations) {
    if (operation.kind == PostOperation::Kind::kActivation) {
      PLAIT_RETURN_IF_ERROR(AppendActivation(post_operations, operation));
      continue;
    }
    if (operation.kind == PostOperation::Kind::kLinear) {
      PLAIT_RETURN_IF_ERROR(
          Append(post_operations, dnnl_eltwise_linear, operation.alpha, operation.beta));
      continue;
    }
    PLAIT_ASSIGN_OR_RETURN(const Operand operand, context->Find(operation.operand));
    dnnl_memory_desc_t description = target.result;
    if (operation.kind == PostOperation::Kind::kAddChannel) {
      PLAIT_ASSIGN_OR_RETURN(description, DescribeChannels(target));
    } else if (operand.format != target.format) {
      return context->Refuse();
    }
    const bool multiplies = operation.kind == PostOperation::Kind::kMulTensor;
    const int index = dnnl_post_ops_len(post_operations);
    PLAIT_RETURN_IF_ERROR(OnednnStatus(
        dnnl_post_ops_append_binary(post_operations, multiplies ? dnnl_binary_mul : dnnl_binary_add,
                                    &description),
        "post-operation"));
    arguments->push_back(
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, description, operand.data});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadStridedReorder(LoadContext* context,
                                                              const Shape& shape,
                                                              const StridedElements& source,
                                                              const StridedElements& target) {
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t from, DescribeStrided(shape, source.strides));
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t to, DescribeStrided(shape, target.strides));
  PLAIT_ASSIGN_OR_RETURN(const OnednnAttributes attributes, NewOnednnAttributes());
  const dnnl_engine_t engine = context->onednn()->engine();
  dnnl_primitive_desc_t descriptor = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(
      dnnl_reorder_primitive_desc_create(&descriptor, &from, engine, &to, engine, attributes.get()),
      "reorder"));
  const OnednnDescriptor owned(descriptor);
  return OnednnKernel::Create(context, owned,
                              {{DNNL_ARG_FROM, from, source.data}, {DNNL_ARG_TO, to, target.data}});
}

absl::StatusOr<OnednnPostOperations> NewPostOperations() {
  dnnl_post_ops_t operations = nullptr;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(dnnl_post_ops_create(&operations), "post-operations"));
  return OnednnPostOperations(operations);
}

absl::Status SetPostOperations(dnnl_primitive_attr_t attributes, dnnl_post_ops_t post_operations) {
  return OnednnStatus(dnnl_primitive_attr_set_post_ops(attributes, post_operations),
                      "post-operations");
}

absl::StatusOr<std::byte*> PackWeights(LoadContext* context, const dnnl_memory_desc_t& plain,
                                       TensorId constant, const dnnl_memory_desc_t& wanted) {
  const auto bytes = static_cast<int64_t>(dnnl_memory_desc_get_size(&wanted));
  SharingExecutable::Place place = {nullptr, false};
  const std::optional<Fingerprint> from = FormOf(plain);
  const std::optional<Fingerprint> to = FormOf(wanted);
  if (from.has_value() && to.has_value()) {
    const Fingerprint form = FingerprintBuilder().Add(*from).Add(*to).Finish();
    PLAIT_ASSIGN_OR_RETURN(place, context->AllocatePackedOf(constant, bytes, form));
    if (place.is_packed) return place.data;
  } else {
    PLAIT_ASSIGN_OR_RETURN(place.data, context->AllocateWeights(bytes));
  }
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(constant));
  PLAIT_RETURN_IF_ERROR(
      context->onednn()->Reorder(plain, values.bytes().data(), wanted, place.data));
  return place.data;
}

}  // namespace plait
