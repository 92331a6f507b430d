#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kIndices = 1;
constexpr size_t kUpdates = 2;

// How an update meets what stands in its place.
enum class Meeting { kReplace, kAdd, kMul, kMax, kMin };

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

// Data [indexed.., slice..] takes updates [outer.., slice..] where indices [outer.., depth] say, a
// tuple of `depth` numbers for each slice. Returns the indexed dimensions.
absl::StatusOr<absl::Span<const int64_t>> IndexedDims(const OpCall& call) {
  const Shape& data = call.input_types[0].shape;
  const Shape& indices = call.input_types[kIndices].shape;
  if (data.empty() || indices.empty()) {
    return absl::InvalidArgumentError("data and indices must have a dimension");
  }
  const int64_t depth = indices.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the last dimension of indices must be 1 to ", data.size(), ", is ", depth));
  }
  return absl::MakeConstSpan(data).first(static_cast<size_t>(depth));
}

absl::Status CheckUpdates(const OpCall& call, size_t depth) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kUpdates, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, kUpdates));
  const Shape& data = call.input_types[0].shape;
  const Shape& indices = call.input_types[kIndices].shape;
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  const Shape& updates = call.input_types[kUpdates].shape;
  if (updates == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "updates must have shape ", ShapeToString(expected), ", have ", ShapeToString(updates)));
}

// ONNX does not say what the sum of two bools is.
absl::Status CheckMeeting(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(call.attributes));
  if (meeting == Meeting::kReplace || call.input_types[0].dtype != DataType::kBool) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError("a reduction of bools is not implemented");
}

Types Infer(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kIndices, TypeSet::kInteger));
  PLAIT_RETURN_IF_ERROR(CheckMeeting(call));
  PLAIT_ASSIGN_OR_RETURN(const absl::Span<const int64_t> dims, IndexedDims(call));
  PLAIT_RETURN_IF_ERROR(CheckUpdates(call, dims.size()));
  if (const Tensor* values = call.constant(kIndices); values != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndexTuples(values->AsInt64s(), dims));
  }
  return std::vector<TensorType>{call.input_types[0]};
}

// Every byte is moved once; an update that does not replace costs an operation per element.
Work WorkOfScatter(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const absl::StatusOr<Meeting> meeting = MeetingOf(call.attributes);
  const bool computes = meeting.ok() && *meeting != Meeting::kReplace;
  work.flops = computes ? call.input_types[kUpdates].elements() : 0;
  return work;
}

// Updates in their order, so that of two for one place the later one has the last word.
template <typename Value, typename Meet>
void Scatter(absl::Span<const int64_t> indices, absl::Span<const int64_t> dims,
             const std::vector<Value>& updates, Meet meet, std::vector<Value>* to) {
  const size_t tuples = indices.size() / dims.size();
  if (tuples == 0) return;
  const size_t slice = updates.size() / tuples;
  for (size_t tuple = 0; tuple < tuples; ++tuple) {
    const int64_t offset = OffsetOfTuple(indices.subspan(tuple * dims.size(), dims.size()), dims);
    Value* place = to->data() + static_cast<size_t>(offset) * slice;
    const Value* update = updates.data() + tuple * slice;
    for (size_t i = 0; i < slice; ++i) place[i] = meet(place[i], update[i]);
  }
}

// `Number` is what the meeting is computed with: sums and products of integers wrap as unsigned
// ones do, and 64-bit integers are ordered as their type says.
template <typename Number, typename Value>
void ScatterAs(Meeting meeting, absl::Span<const int64_t> indices, absl::Span<const int64_t> dims,
               const std::vector<Value>& updates, std::vector<Value>* to) {
  const auto scatter = [&](auto meet) {
    const auto meet_values = [meet](Value a, Value b) {
      return static_cast<Value>(meet(static_cast<Number>(a), static_cast<Number>(b)));
    };
    Scatter(indices, dims, updates, meet_values, to);
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

absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(call.attributes));
  PLAIT_ASSIGN_OR_RETURN(const absl::Span<const int64_t> dims, IndexedDims(call));
  const auto& indices = std::get<std::vector<int64_t>>(inputs[kIndices]->values);
  PLAIT_RETURN_IF_ERROR(CheckIndexTuples(indices, dims));
  const bool ordered = meeting == Meeting::kMax || meeting == Meeting::kMin;
  EvalTensor& output = outputs[0];
  output.values = inputs[0]->values;
  if (ordered && std::holds_alternative<std::vector<FieldElement>>(output.values)) {
    return NoMeaningInField();
  }
  const bool is_unsigned = !ordered || output.type.dtype == DataType::kUint64;
  std::visit(
      [&]<typename Value>(std::vector<Value>& to) {
        const auto& updates = std::get<std::vector<Value>>(inputs[kUpdates]->values);
        if constexpr (std::is_same_v<Value, int64_t>) {
          if (is_unsigned) return ScatterAs<uint64_t>(meeting, indices, dims, updates, &to);
        }
        ScatterAs<Value>(meeting, indices, dims, updates, &to);
      },
      output.values);
  return absl::OkStatus();
}

// Opset 16 brought reductions by sum and product, 18 those by order.
absl::Status Lower(VersionedNode* node) {
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

}  // namespace

// y = x, but y[indices[o..].., s..] = updates[o.., s..], or the sum, product, maximum or minimum of
// both: tuples of indices choose the slices that are written.
const OpSpec kScatterNDSpec = {
    .kind = OpKind::kScatterND,
    .since_opset = 11,
    .inputs = {3, 3},
    .infer = Infer,
    .work = WorkOfScatter,
    .evaluate = Evaluate,
    .lower = Lower,
};

}  // namespace plait
