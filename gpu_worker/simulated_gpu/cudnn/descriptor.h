#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/simulated_gpu/cudnn/engine.h"
#include "gpu_worker/simulated_gpu/cudnn/operation_graph.h"

namespace plait::simulated_gpu {

class MirroredGraph;
class CudnnPlan;
struct Descriptor;

// What an attribute was set to, by the bytes that cuDNN copies. Of descriptors, `parts` are meant.
struct AttributeValue {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<std::shared_ptr<Descriptor>> parts;
};

// One descriptor of the backend interface: what it was told, and what was made of it when it was
// finalized.
struct Descriptor {
  explicit Descriptor(cudnnBackendDescriptorType_t of_type) : type(of_type) {}

  const cudnnBackendDescriptorType_t type;
  bool is_finalized = false;
  bool is_destroyed = false;
  std::map<int, AttributeValue> values;  // by the attribute's name

  std::shared_ptr<const OperationGraph> graph;    // of an operation graph
  std::shared_ptr<const MirroredGraph> mirrored;  // likewise; null without the real library
  std::vector<CudnnEngine> engines;               // of a heuristic
  std::optional<CudnnEngine> engine;              // of an engine, a configuration or a plan
  std::shared_ptr<const Descriptor> configured;   // the graph of these, to be kept
  std::shared_ptr<const CudnnPlan> plan;          // of a plan
  std::string json;                               // of a device

  bool Has(cudnnBackendAttributeName_t name) const { return values.count(name) != 0; }
  // The only value, or `otherwise` if there is none.
  template <typename Value>
  Value One(cudnnBackendAttributeName_t name, Value otherwise) const {
    const auto found = values.find(name);
    if (found == values.end()) return otherwise;
    std::memcpy(&otherwise, found->second.bytes.data(), sizeof(Value));
    return otherwise;
  }
  std::vector<int64_t> Sizes(cudnnBackendAttributeName_t name) const;
  // The only part, or null.
  std::shared_ptr<Descriptor> Part(cudnnBackendAttributeName_t name) const;
};

// Whether it and all that it refers to are still there.
bool IsWhole(const Descriptor& descriptor);

}  // namespace plait::simulated_gpu
