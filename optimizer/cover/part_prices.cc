#include "optimizer/cover/part_prices.h"

#include <algorithm>
#include <limits>

#include "optimizer/kernels/concat_pieces.h"

// %c = Concat(%a, %b) takes 6 us alone and 30 in a plan, two thirds of it for %a. %a can be written
// by a kernel of 50 us that writes no parts, or by one of 60 us that does; %b comes from the
// caller. The first kernel of %a is priced 70 us, the other one 60, and the Concat 10.

namespace plait {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

PartPrices::PartPrices(const Graph& graph, const KernelCatalog& catalog,
                       absl::Span<const Measured> kernels)
    : graph_(graph), catalog_(catalog) {
  std::map<NodeId, std::pair<const Kernel*, Times>> concats;
  for (const Measured& measured : kernels) {
    if (ConcatPiecesOf(graph, measured.kernel).empty()) continue;
    auto& [kernel, times] =
        concats.try_emplace(measured.kernel.nodes[0], &measured.kernel, Times{{kNever, kNever}})
            .first->second;
    double& us = times.us[measured.takes_all];
    us = std::min(us, measured.latency_us);
  }
  if (concats.empty()) return;
  may_be_part_.resize(graph.tensor_count());
  for (const Measured& measured : kernels) {
    if (!catalog.WritesParts(measured.kernel)) continue;
    for (size_t i = 0; i < measured.outputs.size(); ++i) {
      const bool is_image = measured.kernel.output_formats[i] == Format::kChannelsLast;
      if (is_image) may_be_part_[measured.outputs[i]] = true;
    }
  }
  for (const auto& [node, concat] : concats) AddCopiesOf(*concat.first, concat.second);
}

void PartPrices::AddCopiesOf(const Kernel& concat, const Times& times) {
  const auto all = static_cast<double>(graph_.output_type(concat.nodes[0]).bytes());
  double copied = 1;
  for (const ConcatPiece& piece : ConcatPiecesOf(graph_, concat)) {
    if (!may_be_part_[piece.tensor]) continue;
    const double share = static_cast<double>(graph_.type(piece.tensor).bytes()) / all;
    Times& copies = copies_.try_emplace(piece.tensor, Times{{0, 0}}).first->second;
    for (const bool takes_all : {false, true}) {
      const double us = times.us[takes_all] < kNever ? times.us[takes_all] : times.us[!takes_all];
      copies.us[takes_all] += share * us * catalog_.CopyInPlanRatio();
    }
    copied -= share;
  }
  copied_[concat.nodes[0]] = std::max(copied, 0.0);
}

double PartPrices::LatencyUs(const Measured& measured) const {
  if (copies_.empty()) return measured.latency_us;
  if (!ConcatPiecesOf(graph_, measured.kernel).empty()) {
    return measured.latency_us * catalog_.CopyInPlanRatio() * copied_.at(measured.kernel.nodes[0]);
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
  if (!catalog_.WritesParts(measured.kernel)) add(measured.outputs, measured.kernel.output_formats);
  if (!catalog_.ReadsParts(measured.kernel)) add(measured.inputs, measured.kernel.input_formats);
  return us;
}

}  // namespace plait
