#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_calls.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_state.h"

// Handles and their streams, and the execution of plans.

namespace plait::simulated_gpu {
namespace {

constexpr uint64_t kCudnnWorkspaceAlignmentBytes = 256;

// The number that a tensor by value has in the host's memory.
double NumberAt(cudnnDataType_t type, const void* host) {
  const auto as = [&](auto value) {
    std::memcpy(&value, host, sizeof(value));
    return static_cast<double>(value);
  };
  if (type == CUDNN_DATA_DOUBLE) return as(double());
  if (type == CUDNN_DATA_INT32) return as(int32_t());
  return type == CUDNN_DATA_INT64 ? as(int64_t()) : as(float());
}

// The words for a plan's kernel from what a pack binds.
cudnnStatus_t BindPack(const GraphKernel& kernel, const Descriptor& pack,
                       std::vector<uint64_t>* words) {
  const std::vector<int64_t> ids = pack.Sizes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  std::vector<void*> pointers(ids.size());
  const AttributeValue& bound = pack.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::memcpy(pointers.data(), bound.bytes.data(), bound.bytes.size());
  for (const GraphTensor& tensor : kernel.bound()) {
    void* pointer = nullptr;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == tensor.id) pointer = pointers[i];
    }
    if (pointer == nullptr) {
      return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                         absl::StrCat("nothing is bound to the tensor ", tensor.id));
    }
    const auto address = reinterpret_cast<uint64_t>(pointer);
    if (tensor.is_by_value) {
      words->push_back(std::bit_cast<uint64_t>(NumberAt(tensor.type, pointer)));
      continue;
    }
    if (address % static_cast<uint64_t>(tensor.alignment_bytes) != 0) {
      return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                         absl::StrCat("the tensor ", tensor.id, " is not aligned to ",
                                      tensor.alignment_bytes, " bytes, as was told"));
    }
    words->push_back(address);
  }
  const auto workspace =
      reinterpret_cast<uint64_t>(pack.One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr));
  if (kernel.workspace_bytes() > 0 && workspace == 0) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no workspace");
  }
  if (kernel.workspace_bytes() > 0 && workspace % kCudnnWorkspaceAlignmentBytes != 0) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "the workspace is not aligned");
  }
  words->push_back(workspace);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t CudnnCalls::cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place");
  CudnnHandle made;
  if (const CUresult code = CurrentDevice(&made.device); code != CUDA_SUCCESS) {
    return Fail("cudnnCreate", code);
  }
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  *handle = state.handles.Add(made);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CudnnCalls::cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  CudnnHandle* known = state.handles.Find(handle);
  if (known == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no such handle");
  int current = 0;
  CUresult code = CurrentDevice(&current);
  if (code != CUDA_SUCCESS) return Fail("cudnnSetStream", code);
  code = CheckStream(stream);
  if (current != known->device || code == CUDA_ERROR_INVALID_HANDLE) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "a stream of another device");
  }
  if (code != CUDA_SUCCESS) return Fail("cudnnSetStream", code);
  known->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

// One kernel, in the stream that the handle has now.
cudnnStatus_t CudnnCalls::cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                              cudnnBackendDescriptor_t pack) {
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CudnnHandle* known = state.handles.Find(handle);
  const std::shared_ptr<Descriptor>* planned = state.descriptors.Find(plan);
  const std::shared_ptr<Descriptor>* packed = state.descriptors.Find(pack);
  if (known == nullptr || planned == nullptr || packed == nullptr) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no such handle or descriptor");
  }
  if ((*planned)->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      (*packed)->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "no plan and no pack");
  }
  if (!(*planned)->is_finalized || !(*packed)->is_finalized) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan or pack that is not final");
  }
  if (!IsWhole(**planned)) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "a descriptor that the plan refers to is gone");
  }
  const std::shared_ptr<const CudnnPlan>& launched = (*planned)->plan;
  if (launched == nullptr) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "a plan for a device that is only described");
  }
  int current = 0;
  CUresult code = CurrentDevice(&current);
  if (code != CUDA_SUCCESS) return Fail("cudnnBackendExecute", code);
  if (current != known->device || current != launched->device()) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "a handle or plan of another device");
  }
  std::vector<uint64_t> words;
  const cudnnStatus_t status = BindPack(launched->stand_in(), **packed, &words);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  code = LaunchStandIn(launched->kernel(), words, known->stream);
  return code == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : Fail("cudnnBackendExecute", code);
}

}  // namespace plait::simulated_gpu
