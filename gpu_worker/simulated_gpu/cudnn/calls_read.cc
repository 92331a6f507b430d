#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/cudnn/attributes.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_calls.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_state.h"

// What descriptors are asked for.

namespace plait::simulated_gpu {
namespace {

// Where values are to go.
struct Reading {
  CudnnState* state;
  cudnnBackendAttributeType_t type;
  int64_t room;
  int64_t* available;
  void* values;
};

cudnnStatus_t Unknown() {
  return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "an attribute that this descriptor does not have");
}

// As many as there is room for; how many there are in all is told.
cudnnStatus_t GiveBytes(const Reading& to, cudnnBackendAttributeType_t type, const void* bytes,
                        size_t count) {
  if (to.type != type) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  }
  if (to.available != nullptr) *to.available = static_cast<int64_t>(count);
  const size_t given = std::min(count, static_cast<size_t>(std::max<int64_t>(to.room, 0)));
  if (given > 0 && to.values == nullptr) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no room for values");
  }
  if (given > 0) std::memcpy(to.values, bytes, given * BytesOf(type));
  return CUDNN_STATUS_SUCCESS;
}

template <typename Value>
cudnnStatus_t Give(const Reading& to, cudnnBackendAttributeType_t type,
                   const std::vector<Value>& values) {
  return GiveBytes(to, type, values.data(), values.size());
}

// Fills the descriptors that the caller has made: the i-th by `fill`. cuDNN makes none.
template <typename Fill>
cudnnStatus_t GiveDescriptors(const Reading& to, cudnnBackendDescriptorType_t type, size_t count,
                              const Fill& fill) {
  if (to.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    return RefuseCudnn(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  }
  if (to.available != nullptr) *to.available = static_cast<int64_t>(count);
  const size_t given = std::min(count, static_cast<size_t>(std::max<int64_t>(to.room, 0)));
  const auto* handles = static_cast<const cudnnBackendDescriptor_t*>(to.values);
  for (size_t i = 0; i < given; ++i) {
    const std::shared_ptr<Descriptor>* found =
        handles == nullptr ? nullptr : to.state->descriptors.Find(handles[i]);
    if (found == nullptr || (*found)->type != type) {
      return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no descriptor of the right type to be filled");
    }
    fill(i, found->get());
    (*found)->is_finalized = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

template <typename Value>
void SetOne(Descriptor* descriptor, cudnnBackendAttributeName_t name,
            cudnnBackendAttributeType_t type, Value value) {
  AttributeValue& set = descriptor->values[name];
  set.type = type;
  set.count = 1;
  set.bytes.resize(sizeof(value));
  std::memcpy(set.bytes.data(), &value, sizeof(value));
}

cudnnStatus_t ReadConfiguration(const Descriptor& config, cudnnBackendAttributeName_t name,
                                const Reading& to) {
  const CudnnEngine& engine = *config.engine;
  switch (name) {
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      return GiveDescriptors(to, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1,
                             [&](size_t, Descriptor* filled) {
                               filled->engine = engine;
                               filled->configured = config.configured;
                             });
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      return GiveDescriptors(to, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, engine.knobs.size(),
                             [&](size_t i, Descriptor* filled) {
                               SetOne(filled, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                      CUDNN_TYPE_KNOB_TYPE, engine.knobs[i].first);
                               SetOne(filled, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64,
                                      engine.knobs[i].second);
                             });
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
      return Give(to, CUDNN_TYPE_INT64, std::vector<int64_t>{engine.workspace_bytes});
    default:
      return Unknown();
  }
}

cudnnStatus_t ReadEngine(const CudnnEngine& engine, cudnnBackendAttributeName_t name,
                         const Reading& to) {
  switch (name) {
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return Give(to, CUDNN_TYPE_INT64, std::vector<int64_t>{engine.index});
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return Give(to, CUDNN_TYPE_NUMERICAL_NOTE, engine.numerical_notes);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return Give(to, CUDNN_TYPE_BEHAVIOR_NOTE, engine.behavior_notes);
    default:
      return Unknown();
  }
}

cudnnStatus_t ReadHeuristic(const Descriptor& heuristic, const Reading& to) {
  return GiveDescriptors(to, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, heuristic.engines.size(),
                         [&](size_t i, Descriptor* filled) {
                           filled->engine = heuristic.engines[i];
                           filled->configured =
                               heuristic.Part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
                         });
}

}  // namespace

cudnnStatus_t CudnnCalls::cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle,
                                                   cudnnBackendAttributeName_t name,
                                                   cudnnBackendAttributeType_t type, int64_t room,
                                                   int64_t* available, void* values) {
  CudnnState& state = TheCudnn();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const std::shared_ptr<Descriptor>* found = state.descriptors.Find(handle);
  if (found == nullptr) return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, "no such descriptor");
  const Descriptor& descriptor = **found;
  if (!descriptor.is_finalized) {
    return RefuseCudnn(CUDNN_STATUS_NOT_INITIALIZED, "a descriptor that is not final");
  }
  const Reading to = {&state, type, room, available, values};
  if (descriptor.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
      name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    return ReadHeuristic(descriptor, to);
  }
  if (descriptor.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && descriptor.engine.has_value()) {
    return ReadConfiguration(descriptor, name, to);
  }
  if (descriptor.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    return ReadEngine(*descriptor.engine, name, to);
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && descriptor.engine.has_value()) {
    return Give(to, CUDNN_TYPE_INT64, std::vector<int64_t>{descriptor.engine->workspace_bytes});
  }
  if (name == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION &&
      descriptor.type == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
    // The terminating zero is counted.
    return GiveBytes(to, CUDNN_TYPE_CHAR, descriptor.json.c_str(), descriptor.json.size() + 1);
  }
  const auto value = descriptor.values.find(name);
  if (value == descriptor.values.end() || !value->second.parts.empty()) return Unknown();
  return GiveBytes(to, value->second.type, value->second.bytes.data(),
                   static_cast<size_t>(value->second.count));
}

}  // namespace plait::simulated_gpu
