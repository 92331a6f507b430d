#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_worker/simulated_gpu/cudnn/attributes.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_calls.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_state.h"
#include "gpu_worker/simulated_gpu/cudnn/engine_list.h"
#include "gpu_worker/simulated_gpu/cudnn/real_library.h"

// What is checked when a descriptor is finalized, and what is made of it.

namespace plait::simulated_gpu {
namespace {

cudnnStatus_t Bad(const std::string& words) { return RefuseCudnn(CUDNN_STATUS_BAD_PARAM, words); }

cudnnStatus_t RefuseStatus(const absl::Status& status) {
  const bool is_bad = status.code() == absl::StatusCode::kInvalidArgument;
  return RefuseCudnn(is_bad ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_NOT_SUPPORTED,
                     std::string(status.message()));
}

int64_t ElementBytes(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
      return 1;
    default:
      return 4;
  }
}

cudnnStatus_t FinalizeTensor(const Descriptor& tensor) {
  const std::vector<int64_t> sizes = tensor.Sizes(CUDNN_ATTR_TENSOR_DIMENSIONS);
  if (sizes.size() != tensor.Sizes(CUDNN_ATTR_TENSOR_STRIDES).size()) {
    return Bad("as many strides as sizes are needed");
  }
  if (*std::min_element(sizes.begin(), sizes.end()) < 1) return Bad("a size that is not positive");
  const auto alignment = tensor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  const auto type = tensor.One(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (alignment < 1 || alignment % ElementBytes(type) != 0) {
    return Bad("an alignment that is no multiple of the elements");
  }
  return CUDNN_STATUS_SUCCESS;
}

// Arrays with a number for each spatial dimension, of which those of `positive` are at least one.
cudnnStatus_t CheckWindow(const Descriptor& descriptor, cudnnBackendAttributeName_t dimensions,
                          const std::vector<cudnnBackendAttributeName_t>& positive,
                          const std::vector<cudnnBackendAttributeName_t>& paddings) {
  const auto count = static_cast<size_t>(descriptor.One<int64_t>(dimensions, 0));
  for (const auto* names : {&positive, &paddings}) {
    for (const cudnnBackendAttributeName_t name : *names) {
      const std::vector<int64_t> sizes = descriptor.Sizes(name);
      if (sizes.size() != count) return Bad("a number is needed for each spatial dimension");
      if (*std::min_element(sizes.begin(), sizes.end()) < (names == &positive ? 1 : 0)) {
        return Bad("a stride, dilation or window that is not positive, or a negative padding");
      }
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

// The limits of a block and a multiprocessor by compute capability, from the CUDA programming
// guide.
std::string JsonOf(const DeviceOptions& device) {
  const int version = device.sm_major * 10 + device.sm_minor;
  int shared_bytes = 232448;  // 9.0, 10.0
  if (version == 80) shared_bytes = 166912;
  if (version == 86 || version == 89) shared_bytes = 101376;
  const int blocks_max = version == 86 ? 16 : version == 89 ? 24 : 32;
  return absl::StrFormat(
      R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
      R"("regsPerBlock":65536,"multiProcessorCount":%d,"warpSize":32,)"
      R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":%d,)"
      R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":%d,)"
      R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":%d,"pciDeviceId":0,"isTccDriver":0,)"
      R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
      R"("l2CacheSize":%d,"deviceName":"%s","deviceVer":%d,"driverVer":13000,)"
      R"("cudaDeviceId":0,"totalGlobalMem":%d})",
      device.multiprocessors, shared_bytes, blocks_max, device.threads_per_multiprocessor,
      device.l2_bytes, device.name, version * 10, device.memory_bytes);
}

cudnnStatus_t FinalizeDevice(Descriptor* device) {
  const auto json = device->values.find(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  if (json != device->values.end()) {
    device->json.assign(reinterpret_cast<const char*>(json->second.bytes.data()),
                        json->second.bytes.size());
    device->json.resize(std::min(device->json.size(), device->json.find('\0')));
    return CUDNN_STATUS_SUCCESS;
  }
  if (!device->Has(CUDNN_ATTR_DEVICEPROP_DEVICE_ID)) return Bad("neither a device nor its JSON");
  DeviceOptions options;
  const CUresult code =
      OptionsOf(device->One<int32_t>(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, 0), &options);
  if (code != CUDA_SUCCESS) return CudnnCalls::Fail("cudnnBackendFinalize", code);
  device->json = JsonOf(options);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizeGraph(CudnnState* state, Descriptor* graph) {
  if (graph->Has(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
      state->handles.Find(graph->One<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, nullptr)) ==
          nullptr) {
    return Bad("no such handle");
  }
  absl::StatusOr<OperationGraph> read = ReadOperationGraph(*graph);
  if (!read.ok()) return RefuseStatus(read.status());
  graph->graph = std::make_shared<const OperationGraph>(*std::move(read));
  if (RealCudnn() == nullptr) return CUDNN_STATUS_SUCCESS;
  const auto mirrored = std::make_shared<MirroredGraph>(RealCudnn());
  if (const CudnnVerdict verdict = mirrored->Mirror(*graph); !verdict.ok()) {
    return RefuseCudnn(verdict.status, absl::StrCat("cuDNN says: ", verdict.words));
  }
  graph->mirrored = mirrored;
  return CUDNN_STATUS_SUCCESS;
}

// The JSON of the device that a graph is for.
cudnnStatus_t FindDevice(CudnnState* state, const Descriptor& graph, const Descriptor* described,
                         std::string* json) {
  if (described != nullptr) {
    *json = described->json;
    return CUDNN_STATUS_SUCCESS;
  }
  const CudnnHandle* handle =
      state->handles.Find(graph.One<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, nullptr));
  if (handle == nullptr) return Bad("neither a handle nor a device that is described");
  DeviceOptions options;
  const CUresult code = OptionsOf(handle->device, &options);
  if (code != CUDA_SUCCESS) return CudnnCalls::Fail("cudnnBackendFinalize", code);
  *json = JsonOf(options);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizeHeuristic(CudnnState* state, Descriptor* heuristic) {
  const std::shared_ptr<Descriptor> graph = heuristic->Part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const auto mode = heuristic->One(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  std::string json;
  const cudnnStatus_t found =
      FindDevice(state, *graph, heuristic->Part(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP).get(), &json);
  if (found != CUDNN_STATUS_SUCCESS) return found;
  if (graph->mirrored == nullptr) {
    heuristic->engines = EnginesWithoutCudnn(*graph->graph, mode);
    return CUDNN_STATUS_SUCCESS;
  }
  const CudnnVerdict verdict = graph->mirrored->List(mode, json, &heuristic->engines);
  if (verdict.ok()) return CUDNN_STATUS_SUCCESS;
  return RefuseCudnn(verdict.status, absl::StrCat("cuDNN says: ", verdict.words));
}

cudnnStatus_t FinalizePlan(CudnnState* state, Descriptor* plan) {
  const std::shared_ptr<Descriptor> config = plan->Part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (!config->engine.has_value()) return Bad("a configuration without an engine");
  plan->engine = config->engine;
  absl::StatusOr<std::shared_ptr<const GraphKernel>> kernel =
      GraphKernel::Make(*config->configured->graph, *config->engine);
  if (!kernel.ok()) return RefuseStatus(kernel.status());
  const auto handle = plan->One<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, nullptr);
  const bool is_described = plan->Has(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  if ((handle != nullptr) == is_described) return Bad("either a handle or a described device");
  if (is_described) return CUDNN_STATUS_SUCCESS;  // nothing can be launched
  const CudnnHandle* known = state->handles.Find(handle);
  if (known == nullptr) return Bad("no such handle");
  int current = 0;
  CUkernel loaded = nullptr;
  // This one is of the device, as the others are not.
  CUresult code = BeginLibraryCall("cudnnBackendFinalize of a plan", true);
  if (code == CUDA_SUCCESS) code = CurrentDevice(&current);
  if (code == CUDA_SUCCESS && current != known->device) return Bad("a handle of another device");
  if (code == CUDA_SUCCESS) code = LoadStandIn(*kernel, /*shared=*/false, &loaded);
  if (code != CUDA_SUCCESS) return CudnnCalls::Fail("cudnnBackendFinalize", code);
  plan->plan = std::make_shared<const CudnnPlan>(current, loaded, *std::move(kernel));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizePack(const Descriptor& pack) {
  const std::vector<int64_t> ids = pack.Sizes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const AttributeValue& pointers = pack.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (static_cast<int64_t>(ids.size()) != pointers.count) {
    return Bad("as many addresses as ids are needed");
  }
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size()) return Bad("an id twice");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizeByType(CudnnState* state, Descriptor* descriptor) {
  if (IsOperation(descriptor->type)) {
    const absl::StatusOr<OperationGraph> read = ReadOperation(*descriptor);
    return read.ok() ? CUDNN_STATUS_SUCCESS : RefuseStatus(read.status());
  }
  switch (descriptor->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return FinalizeTensor(*descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return CheckWindow(
          *descriptor, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
          {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS},
          {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS});
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      return CheckWindow(*descriptor, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS,
                         {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_ATTR_RESAMPLE_STRIDES},
                         {CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_ATTR_RESAMPLE_POST_PADDINGS});
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return FinalizeDevice(descriptor);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return FinalizeGraph(state, descriptor);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return FinalizeHeuristic(state, descriptor);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return FinalizePlan(state, descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return FinalizePack(*descriptor);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      descriptor->engine = descriptor->Part(CUDNN_ATTR_ENGINECFG_ENGINE)->engine;
      descriptor->configured = descriptor->Part(CUDNN_ATTR_ENGINECFG_ENGINE)->configured;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace

cudnnStatus_t FinalizeDescriptor(CudnnState* state, const std::shared_ptr<Descriptor>& descriptor) {
  if (descriptor->is_finalized) return Bad("finalized twice");
  if (RulesOf(descriptor->type).empty()) {
    return RefuseCudnn(CUDNN_STATUS_NOT_SUPPORTED, "engines and knobs are only read");
  }
  for (const AttributeRule& rule : RulesOf(descriptor->type)) {
    if (rule.is_required && !descriptor->Has(rule.name)) {
      // cuDNN has a configuration in every plan, which is final once it was set.
      const bool is_of_plan = rule.name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG;
      return RefuseCudnn(is_of_plan ? CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED : CUDNN_STATUS_BAD_PARAM,
                         absl::StrCat("the attribute ", rule.name, " is missing"));
    }
  }
  if (!IsWhole(*descriptor)) return Bad("a descriptor that it refers to is gone");
  const cudnnStatus_t status = FinalizeByType(state, descriptor.get());
  descriptor->is_finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

}  // namespace plait::simulated_gpu
