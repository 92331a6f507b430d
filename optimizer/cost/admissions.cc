#include "optimizer/cost/admissions.h"

#include <algorithm>
#include <tuple>

namespace plait {
namespace {

// An error as large as the largest value is no rounding: something became infinite, or nothing is
// left. No price would be right for it.
constexpr double kLosableErrorMax = 1;

// Of a kernel at its layer.
Fingerprint KeyOf(const Fingerprint& layer, const Kernel& kernel) {
  return FingerprintBuilder().Add(layer).Add(kernel.family).Add(kernel.variant).Finish();
}

// What is refused is worse than what is admitted, whatever the numbers are.
bool IsWorse(const LayerError& a, const LayerError& b) {
  const auto rank = [](const LayerError& error) {
    return std::make_tuple(!IsAdmitted(error), std::max(error.error, error.hard_error));
  };
  return rank(a) > rank(b);
}

}  // namespace

Fingerprint Admissions::LayerOf(const Graph& graph, const Kernel& kernel) {
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
  return builder.Finish();
}

void Admissions::Add(const Graph& graph, const Kernel& kernel, const LayerError& error) {
  const auto [entry, is_new] = errors_.emplace(KeyOf(LayerOf(graph, kernel), kernel), error);
  if (!is_new && IsWorse(error, entry->second)) entry->second = error;
}

Admission Admissions::Of(const Graph& graph, const Kernel& kernel) const {
  const LayerError* error = Find(graph, kernel);
  if (error == nullptr) return unknown_;
  if (IsAdmitted(*error)) return Admission::kAdmitted;
  // Written so that NaN is refused.
  if (!AdmitsLosses() || !(error->error < kLosableErrorMax)) return Admission::kRefused;
  const bool is_out_of_reach =
      confined_to_ != nullptr && !confined_to_->contains(LayerOf(graph, kernel));
  return is_out_of_reach ? Admission::kRefused : Admission::kAdmitted;
}

const LayerError* Admissions::Find(const Graph& graph, const Kernel& kernel) const {
  const auto found = errors_.find(KeyOf(LayerOf(graph, kernel), kernel));
  return found == errors_.end() ? nullptr : &found->second;
}

void Admissions::SetSensitivity(const Fingerprint& layer, double sensitivity) {
  sensitivities_[layer] = sensitivity;
}

double Admissions::LossOf(const Graph& graph, const Kernel& kernel) const {
  const LayerError* error = Find(graph, kernel);
  if (error == nullptr || IsAdmitted(*error)) return 0;
  const auto sensitivity = sensitivities_.find(LayerOf(graph, kernel));
  return (sensitivity == sensitivities_.end() ? 1 : sensitivity->second) *
         std::max(0.0, error->error - error->serial_error);
}

double Admissions::PriceUs(const Graph& graph, const Kernel& kernel) const {
  const double loss = LossOf(graph, kernel);
  return loss == 0 ? 0 : us_per_error_ * loss;
}

}  // namespace plait
