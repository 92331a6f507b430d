#include "optimizer/cost/admissions.h"

#include <algorithm>
#include <tuple>

namespace plait {
namespace {

Fingerprint KeyOf(const Graph& graph, const Kernel& kernel) {
  const Node& node = graph.node(kernel.nodes.front());
  FingerprintBuilder builder;
  builder.Add(OpKindName(node.op)).Add(node.attributes->fingerprint());
  builder.Add(uint64_t{node.inputs.size()});
  for (const TensorId input : node.inputs) {
    if (input == kNoTensor) {
      builder.Add(Fingerprint{});
      continue;
    }
    const TensorInfo& tensor = graph.tensor(input);
    builder.Add(tensor.constant != nullptr ? tensor.constant->fingerprint()
                                           : FingerprintOf(tensor.type));
  }
  for (const TensorId output : node.outputs) {
    builder.Add(output == kNoTensor ? Fingerprint{} : FingerprintOf(graph.type(output)));
  }
  return builder.Add(kernel.family).Add(kernel.variant).Finish();
}

// What is refused is worse than what is admitted, whatever the numbers are.
bool IsWorse(const LayerError& a, const LayerError& b) {
  const auto rank = [](const LayerError& error) {
    return std::make_tuple(!IsAdmitted(error), std::max(error.error, error.hard_error));
  };
  return rank(a) > rank(b);
}

}  // namespace

void Admissions::Add(const Graph& graph, const Kernel& kernel, const LayerError& error) {
  const auto [entry, is_new] = errors_.emplace(KeyOf(graph, kernel), error);
  if (!is_new && IsWorse(error, entry->second)) entry->second = error;
}

Admission Admissions::Of(const Graph& graph, const Kernel& kernel) const {
  const LayerError* error = Find(graph, kernel);
  if (error == nullptr) return unknown_;
  return IsAdmitted(*error) ? Admission::kAdmitted : Admission::kRefused;
}

const LayerError* Admissions::Find(const Graph& graph, const Kernel& kernel) const {
  const auto found = errors_.find(KeyOf(graph, kernel));
  return found == errors_.end() ? nullptr : &found->second;
}

}  // namespace plait
