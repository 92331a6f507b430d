#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

#include <algorithm>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// 2^20 operations take a core some 5 us: below that, dividing them gains nothing.
constexpr int64_t kWideFlopsMin = int64_t{1} << 20;

constexpr int64_t kFlopsOfThreadMin = int64_t{1} << 25;

int64_t FlopsOf(const Graph& graph, const Kernel& kernel) {
  int64_t flops = 0;
  for (const NodeId node : kernel.nodes) flops += WorkOf(graph, node).flops;
  return flops;
}

}  // namespace

// A reduction writes little and reads much: both ends are looked at.
bool HasManyElements(const Graph& graph, const Kernel& kernel) {
  int64_t elements = 0;
  for (const NodeId node : kernel.nodes) {
    for (const TensorId output : graph.node(node).outputs) {
      if (output != kNoTensor) elements = std::max(elements, graph.type(output).elements());
    }
    if (graph.node(node).inputs.empty() || graph.node(node).inputs[0] == kNoTensor) continue;
    elements = std::max(elements, graph.input_type(node, 0).elements());
  }
  return elements >= kWideElementsMin;
}

bool WritesManyElements(const Graph& graph, const Kernel& kernel) {
  return graph.output_type(kernel.nodes.front()).elements() >= kWideElementsMin;
}

bool HasManyFlops(const Graph& graph, const Kernel& kernel) {
  return FlopsOf(graph, kernel) >= kWideFlopsMin;
}

bool HasManyFlopsForEach(const Graph& graph, const Kernel& kernel, int threads) {
  return FlopsOf(graph, kernel) / threads >= kFlopsOfThreadMin;
}

}  // namespace plait
