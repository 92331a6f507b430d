#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/cudnn/attributes.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_calls.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_state.h"
#include "gpu_worker/simulated_gpu/cudnn/real_library.h"

// Descriptors and what they are told, and statuses in words.

namespace plait::simulated_gpu {
namespace {

std::string& ThreadsLastCudnnWords() {
  thread_local std::string words;
  return words;
}

bool IsKnown(cudnnBackendDescriptorType_t type) {
  return !RulesOf(type).empty() || type == CUDNN_BACKEND_ENGINE_DESCRIPTOR ||
         type == CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
}

// The descriptors that are to be an attribute, which have to be finalized and of the rule's type.
cudnnStatus_t TakeParts(CudnnState* state, const AttributeRule& rule, AttributeValue* value) {
  std::vector<cudnnBackendDescriptor_t> handles(static_cast<size_t>(value->count));
  std::memcpy(handles.data(), value->bytes.data(), value->bytes.size());
  for (const cudnnBackendDescriptor_t handle : handles) {
    const std::shared_ptr<Descriptor>* part = state->descriptors.Find(handle);
    if (part == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no such descriptor");
    const bool is_right = rule.part == AttributeRule::kAnyOperation ? IsOperation((*part)->type)
                                                                    : (*part)->type == rule.part;
    if (!is_right) {
      return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                         absl::StrCat("a descriptor of the type ", (*part)->type));
    }
    if (!(*part)->is_finalized) {
      return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor that is not final");
    }
    value->parts.push_back(*part);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

CudnnState& TheCudnn() {
  // Never destroyed: candidates may be gone later.
  static auto& state = *std::make_unique<CudnnState>().release();
  return state;
}

cudnnStatus_t RefuseCudnn(cudnnStatus_t status, const std::string& words) {
  ThreadsLastCudnnWords() = absl::StrCat("simulated: ", words);
  return status;
}

cudnnStatus_t CudnnCalls::Fail(const char* function, CUresult code) {
  cudnnStatus_t status = CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
  switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
      status = CUDNN_STATUS_NOT_INITIALIZED;
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      status = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
      break;
    case CUDA_ERROR_UNKNOWN:
      if (function != std::string("cudnnBackendExecute")) status = CUDNN_STATUS_INTERNAL_ERROR;
      break;
    default:
      break;
  }
  return RefuseCudnn(status, absl::StrCat(function, ": ", NameOf(code)));
}

size_t CudnnCalls::cudnnGetVersion() {
  return RealCudnn() == nullptr ? CUDNN_VERSION : RealCudnn()->get_version();
}

// By cuDNN itself where it is.
const char* CudnnCalls::cudnnGetErrorString(cudnnStatus_t status) {
  if (RealCudnn() != nullptr) return RealCudnn()->get_error_string(status);
  switch (CUDNN_STATUS_CATEGORY(static_cast<int>(status))) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_NOT_INITIALIZED";
  }
}

// Once, as cuDNN gives them.
void CudnnCalls::cudnnGetLastErrorString(char* words, size_t bytes_max) {
  if (words == nullptr || bytes_max == 0) return;
  const std::string last = std::exchange(ThreadsLastCudnnWords(), "");
  const size_t length = std::min(last.size(), bytes_max - 1);
  std::memcpy(words, last.data(), length);
  words[length] = '\0';
}

cudnnStatus_t CudnnCalls::cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                       cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place");
  if (!IsKnown(type)) {
    return RefuseCudnn(CUDNN_STATUS_NOT_SUPPORTED,
                       absl::StrCat("descriptors of the type ", type, " are not simulated"));
  }
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  *descriptor = state.descriptors.Add(std::make_shared<Descriptor>(type));
  return CUDNN_STATUS_SUCCESS;
}

// What refers to it sees that it is gone.
cudnnStatus_t CudnnCalls::cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  CudnnState& state = TheCudnn();
  std::shared_ptr<Descriptor> last;  // so that a plan goes behind the lock
  const std::lock_guard<std::mutex> lock(state.mutex);
  const std::shared_ptr<Descriptor>* found = state.descriptors.Find(handle);
  if (handle == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  if (found == nullptr) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "destroyed twice, or never made");
  }
  last = *found;
  last->is_destroyed = true;
  last->plan = nullptr;
  state.descriptors.Erase(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CudnnCalls::cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (handle == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nothing");
  const std::shared_ptr<Descriptor>* found = state.descriptors.Find(handle);
  if (found == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no such descriptor");
  return FinalizeDescriptor(&state, *found);
}

cudnnStatus_t CudnnCalls::cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                                   cudnnBackendAttributeName_t name,
                                                   cudnnBackendAttributeType_t type, int64_t count,
                                                   const void* values) {
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const std::shared_ptr<Descriptor>* found = state.descriptors.Find(handle);
  if (found == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no such descriptor");
  Descriptor& descriptor = **found;
  if (descriptor.is_finalized) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "an attribute of what is final");
  }
  const AttributeRule* rule = FindRule(descriptor.type, name);
  if (rule == nullptr) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, absl::StrCat("the attribute ", name,
                                                            " is none of this descriptor, or is "
                                                            "not simulated"));
  }
  if (type != rule->type) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                       absl::StrCat("the attribute ", name, " has the type ", rule->type));
  }
  if (count < 1 || count > rule->count_max) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM,
                       absl::StrCat("the attribute ", name, " as ", count, " values"));
  }
  if (values == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no values");
  AttributeValue value;
  value.type = type;
  value.count = count;
  value.bytes.resize(static_cast<size_t>(count) * BytesOf(type));
  std::memcpy(value.bytes.data(), values, value.bytes.size());
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const cudnnStatus_t status = TakeParts(&state, *rule, &value);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  descriptor.values[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace plait::simulated_gpu
