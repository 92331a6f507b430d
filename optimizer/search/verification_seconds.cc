#include "optimizer/search/verification_seconds.h"

#include "optimizer/cost/measuring_rules.h"

namespace plait {
namespace {

// Estimates that are meant to be too high rather than too low: 0.3 ms to make a kernel, 1.2 GB/s to
// pack weights, and 20 ms for whatever else a load does (bert_base: 0.5 s, where it takes 0.3 s).
constexpr double kSecondsPerKernel = 0.3e-3;
constexpr double kSecondsPerWeightByte = 1 / 1.2e9;
constexpr double kSecondsPerLoad = 0.02;

double LoadSeconds(size_t kernels, double weight_bytes) {
  return kSecondsPerLoad + kSecondsPerKernel * static_cast<double>(kernels) +
         kSecondsPerWeightByte * weight_bytes;
}

double WeightBytes(const TensorInfo& tensor) {
  return tensor.constant != nullptr ? static_cast<double>(tensor.type.bytes()) : 0;
}

double LoadSeconds(const Graph& graph, size_t kernels) {
  double weight_bytes = 0;
  for (const TensorInfo& tensor : graph.tensors()) weight_bytes += WeightBytes(tensor);
  return LoadSeconds(kernels, weight_bytes);
}

}  // namespace

double SecondsToLoad(const Graph& graph) {
  return LoadSeconds(graph, static_cast<size_t>(graph.node_count()));
}

double SecondsToLoadKernel(const Graph& graph, absl::Span<const NodeId> nodes) {
  double weight_bytes = 0;
  for (const NodeId node : nodes) {
    for (const TensorId input : graph.node(node).inputs) {
      if (input != kNoTensor) weight_bytes += WeightBytes(graph.tensor(input));
    }
  }
  return LoadSeconds(1, weight_bytes);
}

double SecondsToVerify(absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch,
                       int given_inputs) {
  const RoundRuns of_round = RunsOfRound(candidates[0].predicted_us);
  const int inputs = batch.random_inputs + (batch.has_given_inputs ? given_inputs : 0);
  const int runs = inputs + batch.loads * (1 + batch.rounds * (of_round.untimed + of_round.timed));
  // The baseline runs twice on each input.
  double seconds = inputs * candidates[0].predicted_us * 1e-6;
  for (const PlanCandidate& candidate : candidates) {
    seconds += batch.loads * LoadSeconds(candidate.graph, candidate.plan.steps.size()) +
               runs * candidate.predicted_us * 1e-6;
  }
  return seconds;
}

}  // namespace plait
