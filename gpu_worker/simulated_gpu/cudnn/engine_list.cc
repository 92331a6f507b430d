#include "gpu_worker/simulated_gpu/cudnn/engine_list.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_worker/simulated_gpu/tensor_memory.h"

namespace plait::simulated_gpu {
namespace {

// More than any version has.
constexpr size_t kNotesMax = 32;

CudnnVerdict Judge(const cuda::CudnnLibrary& library, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  std::array<char, 512> words = {};
  library.get_last_error_string(words.data(), words.size());
  return {status, words.data()};
}

// Descriptors for cuDNN to write to, destroyed at the end. The first error stays, and is the
// verdict: what cannot be read must not look like what is not there.
class Scratch {
 public:
  explicit Scratch(const cuda::CudnnLibrary& library) : library_(library) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      library_.destroy_descriptor(*made);
    }
  }

  const CudnnVerdict& verdict() const { return verdict_; }

  // Null where it cannot be made.
  cudnnBackendDescriptor_t Make(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    if (!Keep(library_.create_descriptor(type, &made))) return nullptr;
    made_.push_back(made);
    return made;
  }
  std::vector<cudnnBackendDescriptor_t> MakeMany(cudnnBackendDescriptorType_t type, int64_t count) {
    std::vector<cudnnBackendDescriptor_t> many;
    for (int64_t i = 0; i < count; ++i) many.push_back(Make(type));
    return many;
  }
  // How many there are, of which at most `count` have been written; 0 after an error.
  int64_t Get(cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, int64_t count, void* values) {
    int64_t available = 0;
    return Keep(library_.get_attribute(from, name, type, count, &available, values)) ? available
                                                                                     : 0;
  }

 private:
  bool Keep(cudnnStatus_t status) {
    if (verdict_.ok()) verdict_ = Judge(library_, status);
    return status == CUDNN_STATUS_SUCCESS;
  }

  const cuda::CudnnLibrary& library_;
  CudnnVerdict verdict_;
  std::vector<cudnnBackendDescriptor_t> made_;
};

template <typename Note>
std::vector<Note> ReadNotes(Scratch& scratch, cudnnBackendDescriptor_t engine,
                            cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  std::vector<Note> notes(kNotesMax);
  const int64_t count = scratch.Get(engine, name, type, kNotesMax, notes.data());
  notes.resize(std::min(kNotesMax, static_cast<size_t>(count)));
  return notes;
}

// `choices` is room for as many knobs as there are.
CudnnEngine ReadRealEngine(Scratch& scratch, cudnnBackendDescriptor_t config,
                           std::vector<cudnnBackendDescriptor_t> choices) {
  CudnnEngine read;
  cudnnBackendDescriptor_t engine = scratch.Make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  scratch.Get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
  scratch.Get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &read.index);
  read.numerical_notes = ReadNotes<cudnnBackendNumericalNote_t>(
      scratch, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
  read.behavior_notes = ReadNotes<cudnnBackendBehaviorNote_t>(
      scratch, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
  scratch.Get(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
              &read.workspace_bytes);
  const int64_t knobs =
      scratch.Get(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  static_cast<int64_t>(choices.size()), choices.data());
  for (size_t i = 0; i < std::min(choices.size(), static_cast<size_t>(knobs)); ++i) {
    std::pair<cudnnBackendKnobType_t, int64_t> knob = {CUDNN_KNOB_TYPE_COUNTS, 0};
    scratch.Get(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob.first);
    scratch.Get(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &knob.second);
    read.knobs.push_back(knob);
  }
  return read;
}

}  // namespace

MirroredGraph::~MirroredGraph() {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    library_->destroy_descriptor(*made);
  }
}

CudnnVerdict MirroredGraph::MirrorPart(const Descriptor& descriptor,
                                       cudnnBackendDescriptor_t* mirrored) {
  if (const auto known = known_.find(&descriptor); known != known_.end()) {
    *mirrored = known->second;
    return {};
  }
  if (const cudnnStatus_t status = library_->create_descriptor(descriptor.type, mirrored);
      status != CUDNN_STATUS_SUCCESS) {
    return Judge(*library_, status);
  }
  for (const auto& [name, value] : descriptor.values) {
    if (value.type == CUDNN_TYPE_HANDLE) continue;
    std::vector<cudnnBackendDescriptor_t> parts;
    for (const std::shared_ptr<Descriptor>& part : value.parts) {
      if (CudnnVerdict verdict = MirrorPart(*part, &parts.emplace_back()); !verdict.ok()) {
        library_->destroy_descriptor(*mirrored);
        return verdict;
      }
    }
    const void* bytes = parts.empty() ? static_cast<const void*>(value.bytes.data()) : parts.data();
    const cudnnStatus_t status = library_->set_attribute(
        *mirrored, static_cast<cudnnBackendAttributeName_t>(name), value.type, value.count, bytes);
    if (status != CUDNN_STATUS_SUCCESS) {
      CudnnVerdict verdict = Judge(*library_, status);
      library_->destroy_descriptor(*mirrored);
      return verdict;
    }
  }
  // Behind its parts, so that it is destroyed before them.
  made_.push_back(*mirrored);
  known_[&descriptor] = *mirrored;
  return Judge(*library_, library_->finalize(*mirrored));
}

CudnnVerdict MirroredGraph::Mirror(const Descriptor& graph) { return MirrorPart(graph, &graph_); }

CudnnVerdict MirroredGraph::List(cudnnBackendHeurMode_t mode, const std::string& json,
                                 std::vector<CudnnEngine>* engines) const {
  Scratch scratch(*library_);
  const cudnnBackendDescriptor_t device = scratch.Make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  const cudnnBackendDescriptor_t heuristic = scratch.Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       const void* value) {
    return library_->set_attribute(heuristic, name, type, 1, value);
  };
  cudnnStatus_t status =
      library_->set_attribute(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                              static_cast<int64_t>(json.size() + 1), json.c_str());
  if (status == CUDNN_STATUS_SUCCESS) status = library_->finalize(device);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, &graph_);
  }
  if (status == CUDNN_STATUS_SUCCESS) {
    status = set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
  }
  if (status == CUDNN_STATUS_SUCCESS) {
    status = set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, &device);
  }
  if (status == CUDNN_STATUS_SUCCESS) status = library_->finalize(heuristic);
  if (status != CUDNN_STATUS_SUCCESS) return Judge(*library_, status);
  constexpr auto kResults = CUDNN_ATTR_ENGINEHEUR_RESULTS;
  const int64_t count = scratch.Get(heuristic, kResults, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> configs =
      scratch.MakeMany(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
  const int64_t filled =
      scratch.Get(heuristic, kResults, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, configs.data());
  const std::vector<cudnnBackendDescriptor_t> choices =
      scratch.MakeMany(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS);
  for (int64_t i = 0; i < std::min(count, filled); ++i) {
    engines->push_back(ReadRealEngine(scratch, configs[static_cast<size_t>(i)], choices));
  }
  if (!scratch.verdict().ok()) engines->clear();
  return scratch.verdict();
}

std::vector<CudnnEngine> EnginesWithoutCudnn(const OperationGraph& graph,
                                             cudnnBackendHeurMode_t mode) {
  CudnnEngine plain;
  plain.index = 9000;
  if (mode == CUDNN_HEUR_MODE_FALLBACK) return {plain};
  CudnnEngine fast;
  fast.index = 9001;
  fast.knobs = {{CUDNN_KNOB_TYPE_TILE_SIZE, 1}};
  fast.numerical_notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  // As those that turn a tensor round before they begin.
  for (const GraphTensor& tensor : graph.tensors) {
    fast.workspace_bytes += tensor.is_virtual ? 0 : ElementsOf(tensor.sizes);
  }
  CudnnEngine hasty = fast;
  hasty.index = 9002;
  hasty.numerical_notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
  return {fast, hasty, plain};
}

}  // namespace plait::simulated_gpu
