#include "gpu_worker/backends/cuda/cudnn/engines.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace plait::cuda {
namespace {

constexpr const char* kUnknownNumericalNote = "unknown_numerical_note";
constexpr const char* kUnknownBehaviorNote = "unknown_behavior_note";

// Words instead of numbers, which go into files and are compared over versions.
const char* NoteName(cudnnBackendNumericalNote_t note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      return "tensor_core";
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      return "down_convert_inputs";
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      return "reduced_precision_reduction";
    case CUDNN_NUMERICAL_NOTE_FFT:
      return "fft";
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return "nondeterministic";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      return "winograd";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      return "winograd_tile_4x4";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      return "winograd_tile_6x6";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return "winograd_tile_13x13";
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
      return "strict_nan_propagation";
    default:
      return kUnknownNumericalNote;
  }
}

const char* NoteName(cudnnBackendBehaviorNote_t note) {
  switch (note) {
    case CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION:
      return "runtime_compilation";
    case CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER:
    case CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER:
      return "requires_int8_reorder";
    case CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API:
      return "native_cuda_graph";
    case CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY:
      return "cublaslt";
    default:
      return kUnknownBehaviorNote;
  }
}

// The notes of one kind of an engine. `unknown` stands for what cannot be read: a library that does
// not know the attribute, or notes beyond the ones that there is room for.
template <class Note>
void AppendNotes(const CudnnDescriptor& engine, cudnnBackendAttributeName_t name,
                 cudnnBackendAttributeType_t type, const char* unknown,
                 std::vector<std::string>* notes) {
  std::array<Note, 32> values = {};  // more than any version of cuDNN has
  const Result<int64_t> count =
      engine.Get(name, type, static_cast<int64_t>(values.size()), values.data());
  if (!count.ok() || count.value() > static_cast<int64_t>(values.size())) {
    notes->push_back(unknown);
  }
  if (!count.ok()) return;
  // cuDNN says how many there are, not how many it has written.
  const size_t known = std::min<size_t>(values.size(), static_cast<size_t>(count.value()));
  for (size_t i = 0; i < known; ++i) notes->push_back(NoteName(values[i]));
}

// Descriptors for cuDNN to write knob choices to: it wants room for as many as there are knobs.
Result<std::vector<CudnnDescriptor>> MakeKnobChoices(const CudnnLibrary& library) {
  std::vector<CudnnDescriptor> choices;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    choices.emplace_back(library, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "knob choice");
    PLAIT_CUDA_RETURN_IF_ERROR(choices.back().status());
  }
  return choices;
}

// The knobs of a configuration, by type; `choices` is room for them.
Result<std::map<int, int64_t>> ReadKnobs(const CudnnDescriptor& config,
                                         const std::vector<CudnnDescriptor>& choices) {
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const CudnnDescriptor& choice : choices) pointers.push_back(choice.get());
  const Result<int64_t> count =
      config.Get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<int64_t>(pointers.size()), pointers.data());
  if (!count.ok()) return count.error();
  const size_t filled = std::min(choices.size(), static_cast<size_t>(count.value()));
  std::map<int, int64_t> knobs;
  for (size_t i = 0; i < filled; ++i) {
    cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
    int64_t value = 0;
    Result<int64_t> read =
        choices[i].Get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    if (!read.ok()) return read.error();
    read = choices[i].Get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
    if (!read.ok()) return read.error();
    knobs[static_cast<int>(type)] = value;
  }
  return knobs;
}

// The global index and not the place in the list, which depends on the heuristic.
std::string NameOf(int64_t engine, const std::map<int, int64_t>& knobs) {
  std::string name = "eng" + std::to_string(engine);
  char separator = '/';
  for (const auto& [type, value] : knobs) {
    name += separator;
    name += "k" + std::to_string(type) + "=" + std::to_string(value);
    separator = ',';
  }
  return name;
}

Result<CudnnEngineConfig> ReadEngineConfig(const CudnnLibrary& library, CudnnDescriptor config,
                                           const std::vector<CudnnDescriptor>& knob_choices) {
  CudnnDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine");
  PLAIT_CUDA_RETURN_IF_ERROR(engine.status());
  // cuDNN fills the engine that it is given; it does not make one.
  cudnnBackendDescriptor_t pointer = engine.get();
  Result<int64_t> read =
      config.Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &pointer);
  if (!read.ok()) return read.error();
  int64_t index = 0;
  read = engine.Get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
  if (!read.ok()) return read.error();
  Result<std::map<int, int64_t>> knobs = ReadKnobs(config, knob_choices);
  if (!knobs.ok()) return knobs.error();
  std::vector<std::string> notes;
  AppendNotes<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                           CUDNN_TYPE_NUMERICAL_NOTE, kUnknownNumericalNote,
                                           &notes);
  AppendNotes<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                          CUDNN_TYPE_BEHAVIOR_NOTE, kUnknownBehaviorNote, &notes);
  return CudnnEngineConfig{std::move(config), NameOf(index, knobs.value()), std::move(notes)};
}

// Appends what the heuristic `mode` lists. One that finds nothing reports an error.
Status AppendHeuristic(const CudnnLibrary& library, const CudnnDescriptor& operation_graph,
                       const CudnnDescriptor* device, cudnnBackendHeurMode_t mode,
                       std::vector<CudnnEngineConfig>* configs) {
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristic");
  heuristic.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operation_graph);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (device != nullptr) heuristic.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  PLAIT_CUDA_RETURN_IF_ERROR(heuristic.Finalize());
  const Result<int64_t> count =
      heuristic.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  if (!count.ok()) return count.error();
  std::vector<CudnnDescriptor> results;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < count.value(); ++i) {
    results.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration");
    PLAIT_CUDA_RETURN_IF_ERROR(results.back().status());
    pointers.push_back(results.back().get());
  }
  const Result<int64_t> filled =
      heuristic.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    static_cast<int64_t>(pointers.size()), pointers.data());
  if (!filled.ok()) return filled.error();
  const Result<std::vector<CudnnDescriptor>> knob_choices = MakeKnobChoices(library);
  if (!knob_choices.ok()) return knob_choices.error();
  const size_t usable = std::min(results.size(), static_cast<size_t>(filled.value()));
  for (size_t i = 0; i < usable; ++i) {
    Result<CudnnEngineConfig> config =
        ReadEngineConfig(library, std::move(results[i]), knob_choices.value());
    if (!config.ok()) return config.error();
    configs->push_back(std::move(config).value());
  }
  return Ok();
}

}  // namespace

Result<CudnnDescriptor> DescribeCudnnDevice(const CudnnLibrary& library, const std::string& json) {
  CudnnDescriptor device(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device description");
  // cuDNN reads to the terminating zero, which it counts.
  device.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
             static_cast<int64_t>(json.size() + 1), json.c_str());
  PLAIT_CUDA_RETURN_IF_ERROR(device.Finalize());
  return device;
}

Result<std::string> ReadCudnnDeviceJson(const CudnnDescriptor& device) {
  const Result<int64_t> size =
      device.Get(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, nullptr);
  if (!size.ok()) return size.error();
  std::string json(static_cast<size_t>(size.value()), '\0');
  const Result<int64_t> filled = device.Get(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                            CUDNN_TYPE_CHAR, size.value(), json.data());
  if (!filled.ok()) return filled.error();
  // The terminating zero is counted, as when it is written.
  while (!json.empty() && json.back() == '\0') json.pop_back();
  return json;
}

Result<std::vector<CudnnEngineConfig>> ListCudnnEngines(const CudnnLibrary& library,
                                                        const CudnnDescriptor& operation_graph,
                                                        const CudnnDescriptor* device) {
  std::vector<CudnnEngineConfig> configs;
  // A is cuDNN's guess by speed and leaves out engines; FALLBACK has those for the rest. They
  // overlap.
  Status failure = Ok();
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const Status status = AppendHeuristic(library, operation_graph, device, mode, &configs);
    // A graph that a heuristic has nothing for is one that it refuses.
    const bool is_refused = !status.ok() && (status.error().code == ErrorCode::kUnsupported ||
                                             status.error().code == ErrorCode::kInvalid);
    if (failure.ok() && !is_refused) failure = status;
  }
  // What the other one lists is used all the same.
  if (configs.empty()) PLAIT_CUDA_RETURN_IF_ERROR(failure);
  RemoveDuplicateEngines(&configs);
  return configs;
}

void RemoveDuplicateEngines(std::vector<CudnnEngineConfig>* configs) {
  std::set<std::string> seen;
  std::vector<CudnnEngineConfig> distinct;
  for (CudnnEngineConfig& config : *configs) {
    if (seen.insert(config.name).second) distinct.push_back(std::move(config));
  }
  *configs = std::move(distinct);
}

bool HasNote(const std::vector<std::string>& notes, const char* note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

}  // namespace plait::cuda
