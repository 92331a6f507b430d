#include "optimizer/plan/place_parts.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "optimizer/kernels/concat_pieces.h"

// A dense block: %c = Concat(%a, %b), %e = Concat(%a, %b, %d). The last one comes first: %a, %b and
// %d become parts of %e from channels 0, 64 and 96. All that %c is made of lies in %e by then, side
// by side, and whoever reads %c can read a part: %c is a part of %e too. Had %b been written by a
// kernel that writes no parts, %c would be a whole of its own, and both Concats would copy.

namespace plait {
namespace {

class PartPlacer {
 public:
  PartPlacer(const Graph& graph, absl::Span<const PlacedStep> steps, const KernelCatalog& catalog)
      : graph_(graph), steps_(steps) {
    for (const auto& [step, kernel] : steps) {
      const bool is_view = kernel->family == kViewFamily;
      for (const FormattedTensor& output : step->outputs) {
        uses_[output].is_written_in_parts = !is_view && catalog.WritesParts(*kernel);
      }
      for (const FormattedTensor& input : step->inputs) {
        uses_[input].are_parts_read &= !is_view && catalog.ReadsParts(*kernel);
      }
    }
  }

  std::map<FormattedTensor, PartPlace> Run() && {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) PlacePiecesOf(*step);
    return std::move(places_);
  }

 private:
  struct Uses {
    bool is_written_in_parts = false;  // stays false for what the caller writes
    bool are_parts_read = true;
  };

  static FormattedTensor Image(TensorId tensor) { return {tensor, Format::kChannelsLast}; }

  bool MayBePart(const FormattedTensor& value) const {
    const auto found = uses_.find(value);
    return found != uses_.end() && found->second.is_written_in_parts &&
           found->second.are_parts_read;
  }

  void PlacePiecesOf(const PlacedStep& placed) {
    const std::vector<ConcatPiece> pieces = ConcatPiecesOf(graph_, *placed.kernel);
    if (pieces.empty()) return;
    const FormattedTensor result = placed.step->outputs[0];
    if (!places_.contains(result) && MayBePart(result)) {
      const std::optional<PartPlace> place = PlaceAround(pieces);
      if (place.has_value()) places_.emplace(result, *place);
    }
    const auto found = places_.find(result);
    const PartPlace at = found == places_.end() ? PartPlace{result, 0} : found->second;
    for (const auto& [tensor, first_channel] : pieces) {
      const FormattedTensor value = Image(tensor);
      const bool is_read =
          std::count(placed.step->inputs.begin(), placed.step->inputs.end(), value) > 0;
      if (!is_read || !MayBePart(value)) continue;
      places_.emplace(value, PartPlace{at.whole, at.first_channel + first_channel});
    }
  }

  // Where all pieces lie already, side by side in one whole.
  std::optional<PartPlace> PlaceAround(const std::vector<ConcatPiece>& pieces) const {
    std::optional<PartPlace> around;
    for (const auto& [tensor, first_channel] : pieces) {
      const auto found = places_.find(Image(tensor));
      if (found == places_.end()) return std::nullopt;
      PartPlace place = found->second;
      place.first_channel -= first_channel;
      if (around.has_value() && place != *around) return std::nullopt;
      around = place;
    }
    return around;
  }

  const Graph& graph_;
  const absl::Span<const PlacedStep> steps_;
  std::map<FormattedTensor, Uses> uses_;
  std::map<FormattedTensor, PartPlace> places_;
};

}  // namespace

std::map<FormattedTensor, PartPlace> PlaceParts(const Graph& graph,
                                                absl::Span<const PlacedStep> steps,
                                                const KernelCatalog& catalog) {
  return PartPlacer(graph, steps, catalog).Run();
}

}  // namespace plait
