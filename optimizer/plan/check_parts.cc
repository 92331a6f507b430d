#include "optimizer/plan/check_parts.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

// %c = Concat(%a, %b) of 64 and 32 channels, and %e = Concat(%a, %b, %d) of 16 more. %a, %b and %d
// are parts of %e from channels 0, 64 and 96, and %c is one from 0. Channels 0 to 63 are written by
// the step of %a, 64 to 95 by that of %b and 96 to 111 by that of %d; the two Concats write
// nothing. Were %b elsewhere, both Concats would write channels 64 to 95: the second might do so
// while the first one's reader reads them, and the plan is wrong, although both write the same
// numbers.

namespace plait {
namespace {

// Channels of a whole that a step writes: the first one, the one behind the last, the step.
using WrittenChannels = std::tuple<int64_t, int64_t, int>;

int64_t ChannelsOf(const Graph& graph, TensorId tensor) { return graph.type(tensor).shape[1]; }

// Where a value lies: the whole, and its own first channel there. A value that is no part is a
// whole.
struct Place {
  int whole;
  int64_t first_channel;
  friend bool operator==(const Place&, const Place&) = default;
};

Place PlaceOf(const Plan& plan, int index) {
  const Value& value = plan.values[index];
  if (value.first_channel < 0) return {index, 0};
  return {value.alias_of, value.first_channel};
}

class PartsCheck {
 public:
  PartsCheck(const Plan& plan, const Graph& graph) : plan_(plan), graph_(graph) {}

  absl::Status Run() {
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      if (plan_.values[i].first_channel < 0) continue;
      PLAIT_RETURN_IF_ERROR(CheckPlace(static_cast<int>(i)));
      written_.try_emplace(plan_.values[i].alias_of);
    }
    if (written_.empty()) return absl::OkStatus();
    for (size_t step = 0; step < plan_.steps.size(); ++step) CollectWritten(static_cast<int>(step));
    for (auto& [whole, channels] : written_) {
      std::sort(channels.begin(), channels.end());
      for (size_t i = 1; i < channels.size(); ++i) {
        const auto& [first, past, step] = channels[i - 1];
        const auto& [next_first, next_past, next_step] = channels[i];
        if (next_first >= past) continue;
        return absl::InvalidArgumentError(absl::StrCat("plan: steps ", step, " and ", next_step,
                                                       " both write channel ", next_first,
                                                       " of value ", whole));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckPlace(int index) const {
    const Value& part = plan_.values[index];
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("plan: value ", index, ": ", what));
    };
    if (part.alias_of < 0) return wrong("is a part, but not of which value");
    const Value& whole = plan_.values[part.alias_of];
    if (whole.alias_of >= 0) return wrong("is a part of a value that is an alias itself");
    if (part.format != Format::kChannelsLast || whole.format != Format::kChannelsLast) {
      return wrong("is a part, and not in channels_last like its whole");
    }
    TensorType type = graph_.type(whole.tensor);
    const int64_t channels = ChannelsOf(graph_, part.tensor);
    if (part.first_channel > type.shape[1] - channels) {
      return wrong("has more channels than its whole has from there on");
    }
    type.shape[1] = channels;
    if (type != graph_.type(part.tensor)) return wrong("has other images than its whole");
    if (part.buffer != whole.buffer) return wrong("must have the buffer of its whole");
    return absl::OkStatus();
  }

  void CollectWritten(int index) {
    const Step& step = plan_.steps[index];
    for (const int output : step.outputs) {
      const Place place = PlaceOf(plan_, output);
      const auto written = written_.find(place.whole);
      if (written == written_.end()) continue;
      const auto add = [&](int64_t first, TensorId tensor) {
        written->second.emplace_back(first, first + ChannelsOf(graph_, tensor), index);
      };
      if (ConcatPiecesOf(graph_, step.kernel).empty()) {
        add(place.first_channel, plan_.values[output].tensor);
      }
      for (const ConcatPiece& piece : CopiedPieces(plan_, graph_, step)) {
        add(place.first_channel + piece.first_channel, piece.tensor);
      }
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  std::map<int, std::vector<WrittenChannels>> written_;  // by whole that has parts
};

}  // namespace

absl::Status CheckParts(const Plan& plan, const Graph& graph) {
  return PartsCheck(plan, graph).Run();
}

// Constants lie nowhere in a plan, and are always copied.
std::vector<ConcatPiece> CopiedPieces(const Plan& plan, const Graph& graph, const Step& step) {
  std::vector<ConcatPiece> copied;
  for (const ConcatPiece& piece : ConcatPiecesOf(graph, step.kernel)) {
    Place place = PlaceOf(plan, step.outputs[0]);
    place.first_channel += piece.first_channel;
    const bool lies_there = std::any_of(step.inputs.begin(), step.inputs.end(), [&](int input) {
      return plan.values[input].tensor == piece.tensor && PlaceOf(plan, input) == place;
    });
    if (!lies_there) copied.push_back(piece);
  }
  return copied;
}

}  // namespace plait
