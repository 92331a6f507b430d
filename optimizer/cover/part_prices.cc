#include "optimizer/cover/part_prices.h"

#include <algorithm>
#include <map>

// %c = Concat(%a, %b) takes 6 us alone and 30 in a plan, two thirds of it for %a. %a can be written
// by a kernel of 50 us that writes no parts, or by one of 60 us that does; %b comes from the
// caller. The first kernel of %a is priced 70 us, the other one 60, and the Concat 10.

namespace plait {
namespace {

std::vector<PartPrices::Concat> ConcatsOf(absl::Span<const PartPrices::Measured> kernels) {
  std::map<NodeId, PartPrices::Times> times;
  for (const PartPrices::Measured& measured : kernels) {
    if (measured.concat == kNoNode) continue;
    PartPrices::Times& of_node =
        times.try_emplace(measured.concat, PartPrices::Times{{kNever, kNever}}).first->second;
    double& us = of_node.us[measured.takes_all];
    us = std::min(us, measured.latency_us);
  }
  std::vector<PartPrices::Concat> concats;
  for (const auto& [node, of_node] : times) concats.push_back({node, of_node});
  return concats;
}

std::vector<bool> PossibleParts(const Graph& graph,
                                absl::Span<const PartPrices::Measured> kernels) {
  std::vector<bool> may_be_part(graph.tensor_count());
  for (const PartPrices::Measured& measured : kernels) {
    if (!measured.writes_parts) continue;
    for (size_t i = 0; i < measured.outputs.size(); ++i) {
      const bool is_image = measured.output_formats[i] == Format::kChannelsLast;
      if (is_image) may_be_part[measured.outputs[i]] = true;
    }
  }
  return may_be_part;
}

}  // namespace

PartPrices::PartPrices(const Graph& graph, double copy_ratio, absl::Span<const Measured> kernels)
    : PartPrices(graph, copy_ratio, ConcatsOf(kernels), PossibleParts(graph, kernels)) {}

PartPrices::PartPrices(const Graph& graph, double copy_ratio, absl::Span<const Concat> concats,
                       const std::vector<bool>& may_be_part)
    : graph_(graph), copy_ratio_(copy_ratio) {
  for (const Concat& concat : concats) AddCopiesOf(concat, may_be_part);
}

void PartPrices::AddCopiesOf(const Concat& concat, const std::vector<bool>& may_be_part) {
  const auto& us_of = concat.times.us;
  const auto all = static_cast<double>(graph_.output_type(concat.node).bytes());
  double copied = 1;
  for (const TensorId piece : graph_.node(concat.node).inputs) {
    if (!may_be_part[piece]) continue;
    const double share = static_cast<double>(graph_.type(piece).bytes()) / all;
    Times& copies = copies_.try_emplace(piece, Times{{0, 0}}).first->second;
    for (const bool takes_all : {false, true}) {
      const double us = us_of[takes_all] < kNever ? us_of[takes_all] : us_of[!takes_all];
      copies.us[takes_all] += share * us * copy_ratio_;
    }
    copied -= share;
  }
  copied_[concat.node] = std::max(copied, 0.0);
}

double PartPrices::LatencyUs(const Measured& measured) const {
  if (copies_.empty()) return measured.latency_us;
  if (measured.concat != kNoNode) {
    return measured.latency_us * copy_ratio_ * copied_.at(measured.concat);
  }
  return measured.latency_us + CopiesUs(measured);
}

double PartPrices::CopiesUs(const Measured& measured) const {
  double us = 0;
  const auto add = [&](absl::Span<const TensorId> tensors, absl::Span<const Format> formats) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto copies = copies_.find(tensors[i]);
      if (copies == copies_.end() || formats[i] != Format::kChannelsLast) continue;
      us += copies->second.us[measured.takes_all];
    }
  };
  if (!measured.writes_parts) add(measured.outputs, measured.output_formats);
  if (!measured.reads_parts) add(measured.inputs, measured.input_formats);
  return us;
}

bool PartPrices::Touch(const Measured& measured) const {
  if (copies_.empty()) return false;
  const auto is_copied = [&](TensorId tensor) { return copies_.contains(tensor); };
  return measured.concat != kNoNode ||
         std::any_of(measured.inputs.begin(), measured.inputs.end(), is_copied) ||
         std::any_of(measured.outputs.begin(), measured.outputs.end(), is_copied);
}

}  // namespace plait
