#include "optimizer/ops/shared/scattering.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

template <typename Value, typename Meet>
void Scatter(absl::Span<const int64_t> places, const std::vector<Value>& updates, Meet meet,
             std::vector<Value>* to) {
  if (places.empty()) return;
  const size_t slice = updates.size() / places.size();
  for (size_t i = 0; i < places.size(); ++i) {
    Value* place = to->data() + places[i];
    const Value* update = updates.data() + i * slice;
    for (size_t j = 0; j < slice; ++j) place[j] = meet(place[j], update[j]);
  }
}

// `Number` is what the meeting is computed with: sums and products of integers wrap as unsigned
// ones do, and 64-bit integers are ordered as their type says.
template <typename Number, typename Value>
void ScatterAs(Meeting meeting, absl::Span<const int64_t> places, const std::vector<Value>& updates,
               std::vector<Value>* to) {
  const auto scatter = [&](auto meet) {
    const auto meet_values = [meet](Value a, Value b) {
      return static_cast<Value>(meet(static_cast<Number>(a), static_cast<Number>(b)));
    };
    Scatter(places, updates, meet_values, to);
  };
  if (meeting == Meeting::kReplace) scatter([](Number, Number b) { return b; });
  if (meeting == Meeting::kAdd) scatter([](Number a, Number b) { return a + b; });
  if (meeting == Meeting::kMul) scatter([](Number a, Number b) { return a * b; });
  if constexpr (!std::is_same_v<Number, FieldElement>) {
    // b != b holds for a NaN alone, and nothing is better than one in `a`: NaNs stay.
    if (meeting == Meeting::kMax)
      scatter([](Number a, Number b) { return b > a || b != b ? b : a; });
    if (meeting == Meeting::kMin)
      scatter([](Number a, Number b) { return b < a || b != b ? b : a; });
  }
}

}  // namespace

absl::StatusOr<Meeting> MeetingOf(const Attributes& attributes) {
  const std::string reduction = attributes.String("reduction", "none");
  if (reduction == "none") return Meeting::kReplace;
  if (reduction == "add") return Meeting::kAdd;
  if (reduction == "mul") return Meeting::kMul;
  if (reduction == "max") return Meeting::kMax;
  if (reduction == "min") return Meeting::kMin;
  return absl::InvalidArgumentError(
      absl::StrCat("reduction must be none, add, mul, max or min, is ", reduction));
}

absl::Status CheckScatter(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kScatterIndices, TypeSet::kInteger));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kScatterUpdates, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, kScatterUpdates));
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(call.attributes));
  if (meeting == Meeting::kReplace || call.input_types[0].dtype != DataType::kBool) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError("a reduction of bools is not implemented");
}

Work WorkOfScatter(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const absl::StatusOr<Meeting> meeting = MeetingOf(call.attributes);
  const bool computes = meeting.ok() && *meeting != Meeting::kReplace;
  work.flops = computes ? call.input_types[kScatterUpdates].elements() : 0;
  return work;
}

absl::Status EvaluateScatter(const OpCall& call, EvalInputs inputs,
                             absl::Span<const int64_t> places, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(call.attributes));
  const bool ordered = meeting == Meeting::kMax || meeting == Meeting::kMin;
  EvalTensor& output = outputs[0];
  output.values = inputs[0]->values;
  if (ordered && std::holds_alternative<std::vector<FieldElement>>(output.values)) {
    return NoMeaningInField();
  }
  const bool is_unsigned = !ordered || output.type.dtype == DataType::kUint64;
  std::visit(
      [&]<typename Value>(std::vector<Value>& to) {
        const auto& updates = std::get<std::vector<Value>>(inputs[kScatterUpdates]->values);
        if constexpr (std::is_same_v<Value, int64_t>) {
          if (is_unsigned) return ScatterAs<uint64_t>(meeting, places, updates, &to);
        }
        ScatterAs<Value>(meeting, places, updates, &to);
      },
      output.values);
  return absl::OkStatus();
}

absl::Status LowerScatter(VersionedNode* node) {
  if (node->opset >= 18) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(node->attributes));
  if (meeting == Meeting::kMax || meeting == Meeting::kMin) {
    return NeedsOpset("a reduction by order", 18);
  }
  if (node->opset >= 16) return absl::OkStatus();
  if (meeting != Meeting::kReplace) return NeedsOpset("a reduction", 16);
  node->attributes.Erase("reduction");
  return absl::OkStatus();
}

}  // namespace plait
