#include "gpu_worker/executor/memory_limits.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

int64_t PortBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const TensorId input : graph.inputs())
    bytes = SaturatingAdd(bytes, graph.type(input).bytes());
  for (const TensorId output : graph.outputs()) {
    bytes = SaturatingAdd(bytes, graph.type(output).bytes());
  }
  return bytes;
}

int64_t LoadedBytes(const Graph& graph, const Plan& plan) {
  int64_t bytes = SaturatingAdd(plan.arena_bytes, PortBytes(graph));
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.constant != nullptr) bytes = SaturatingAdd(bytes, tensor.type.bytes());
  }
  return bytes;
}

absl::Status CheckMemory(absl::string_view what, int64_t bytes, const DeviceDescription& device) {
  if (bytes <= device.memory_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(what, ": needs ", bytes,
                                                   " bytes of memory, device ", device.id, " has ",
                                                   device.memory_bytes));
}

int64_t MachineMemoryBytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

}  // namespace plait
