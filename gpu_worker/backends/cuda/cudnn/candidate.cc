#include "gpu_worker/backends/cuda/cudnn/candidate.h"

#include <utility>

namespace plait::cuda {
namespace {

// The address that `operands` has for a binding, null when it has none.
void* BindingAddress(int64_t binding, const Operands& operands) {
  // cuDNN takes every address as one that it may write to, and writes to outputs only.
  const auto address = [](const void* pointer) { return const_cast<void*>(pointer); };
  switch (binding) {
    case kWeightsBinding:
      return address(operands.weights);
    case kBiasBinding:
      return address(operands.bias);
    case kResidualBinding:
      return address(operands.residual);
    case kOutputBinding:
      return operands.outputs.empty() ? nullptr : operands.outputs[0];
    default:
      break;
  }
  const auto index = static_cast<size_t>(binding - kInputBinding);
  return index < operands.inputs.size() ? address(operands.inputs[index]) : nullptr;
}

}  // namespace

Result<std::shared_ptr<const CudnnProblem>> MakeCudnnProblem(const CudnnLibrary& library,
                                                             CudnnGraph graph,
                                                             const OperandAlignment& alignment,
                                                             const CudaDevice& device) {
  cudnnHandle_t handle = nullptr;
  std::optional<CudnnDescriptor> description;
  if (device.present) {
    const Result<cudnnHandle_t> thread_handle = ThreadCudnnHandle(library);
    if (!thread_handle.ok()) return thread_handle.error();
    handle = thread_handle.value();
  } else {
    Result<CudnnDescriptor> described = DescribeCudnnDevice(library, device.json);
    if (!described.ok()) return described.error();
    description = std::move(described).value();
  }
  Result<CudnnOperationGraph> lowered = LowerCudnnGraph(library, graph, alignment, handle);
  if (!lowered.ok()) return lowered.error();
  return std::shared_ptr<const CudnnProblem>(
      std::make_shared<CudnnProblem>(CudnnProblem{.library = &library,
                                                  .graph = std::move(graph),
                                                  .lowered = std::move(lowered).value(),
                                                  .device = std::move(description),
                                                  .alignment = alignment}));
}

CudnnCandidate::CudnnCandidate(std::shared_ptr<const CudnnProblem> problem,
                               CudnnEngineConfig config)
    : problem_(std::move(problem)),
      config_(std::make_shared<const CudnnEngineConfig>(std::move(config))) {}

std::string CudnnCandidate::name() const { return "cudnn/" + config_->name; }

std::vector<std::string> CudnnCandidate::notes() const { return config_->notes; }

Status CudnnCandidate::Prepare() {
  // A plan is built once; building the same again would only cost time.
  if (plan_) return Ok();
  CudnnDescriptor plan(*problem_->library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                       name() + " plan");
  plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config_->config);
  if (problem_->device) {
    // Without a handle, the plan is built for the described device and can never be launched here.
    plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *problem_->device);
  } else {
    const Result<cudnnHandle_t> handle = ThreadCudnnHandle(*problem_->library);
    if (!handle.ok()) return handle.error();
    plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle.value());
  }
  PLAIT_CUDA_RETURN_IF_ERROR(plan.Finalize());
  int64_t bytes = 0;
  const Result<int64_t> read =
      plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
  if (!read.ok()) return read.error();
  workspace_bytes_ = bytes < 0 ? 0 : static_cast<size_t>(bytes);
  plan_ = std::make_shared<const Plan>(Plan{problem_, config_, std::move(plan)});
  return Ok();
}

size_t CudnnCandidate::workspace_bytes() const { return workspace_bytes_; }

// Keeps the variant pack while the addresses stay: replays of one arena bind the same ones.
Status CudnnCandidate::Bind(const Operands& operands) {
  std::vector<int64_t> bindings;
  std::vector<void*> addresses;
  const std::vector<CudnnTensor>& tensors = problem_->graph.tensors();
  constants_.reserve(tensors.size());  // their addresses are handed out
  constants_.clear();
  for (const CudnnTensor& tensor : tensors) {
    // Virtual tensors have no address: they live inside of the kernel.
    if (tensor.is_virtual) continue;
    if (tensor.by_value) constants_.push_back(*tensor.by_value);
    void* const address =
        tensor.by_value ? &constants_.back() : BindingAddress(tensor.binding, operands);
    if (address == nullptr) {
      return Error{ErrorCode::kInvalid,
                   name() + ": no operand for tensor " + std::to_string(tensor.binding)};
    }
    if (!tensor.by_value && !IsAligned(address, CudnnAlignmentBytes(tensor, problem_->alignment))) {
      return Error{ErrorCode::kInvalid, name() + ": tensor " + std::to_string(tensor.binding) +
                                            " is not aligned as was told"};
    }
    bindings.push_back(tensor.binding);
    addresses.push_back(address);
  }
  // The workspace is bound by the pack as well.
  std::vector<void*> wanted = addresses;
  wanted.push_back(operands.workspace);
  if (variant_pack_ && wanted == bound_) return Ok();
  CudnnDescriptor pack(*problem_->library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                       name() + " variant pack");
  pack.SetSizes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, bindings);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<int64_t>(addresses.size()), addresses.data());
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, operands.workspace);
  PLAIT_CUDA_RETURN_IF_ERROR(pack.Finalize());
  variant_pack_ = std::move(pack);
  bound_ = std::move(wanted);
  return Ok();
}

Status CudnnCandidate::Launch(const Operands& operands, CUstream_st* stream) {
  if (problem_->device || !plan_) {
    return Error{ErrorCode::kUnsupported, name() + ": listed without a device, or not prepared"};
  }
  if (workspace_bytes_ > 0 &&
      (operands.workspace == nullptr || !IsAligned(operands.workspace, kDeviceAlignmentBytes))) {
    return Error{ErrorCode::kInvalid, name() + ": no workspace, or not aligned"};
  }
  PLAIT_CUDA_RETURN_IF_ERROR(Bind(operands));
  const CudnnLibrary& library = *problem_->library;
  // The handle is this thread's, so no other launch can change its stream before execute.
  const Result<cudnnHandle_t> handle = ThreadCudnnHandle(library);
  if (!handle.ok()) return handle.error();
  PLAIT_CUDA_RETURN_IF_ERROR(
      library.Check(library.set_stream(handle.value(), stream), "cudnnSetStream"));
  return library.Check(
      library.execute(handle.value(), plan_->descriptor.get(), variant_pack_->get()),
      name() + " launch");
}

}  // namespace plait::cuda
