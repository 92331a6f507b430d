#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {
namespace {

// Data [indexed.., slice..] takes updates [outer.., slice..] where indices [outer.., depth] say, a
// tuple of `depth` numbers for each slice. Returns the indexed dimensions.
absl::StatusOr<absl::Span<const int64_t>> ScatteredDims(const OpCall& call) {
  const Shape& data = call.input_types[0].shape;
  const Shape& indices = call.input_types[kScatterIndices].shape;
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
  const Shape& data = call.input_types[0].shape;
  const Shape& indices = call.input_types[kScatterIndices].shape;
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  const Shape& updates = call.input_types[kScatterUpdates].shape;
  if (updates == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "updates must have shape ", ShapeToString(expected), ", have ", ShapeToString(updates)));
}

Types InferScatterNd(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckScatter(call));
  PLAIT_ASSIGN_OR_RETURN(const absl::Span<const int64_t> dims, ScatteredDims(call));
  PLAIT_RETURN_IF_ERROR(CheckUpdates(call, dims.size()));
  if (const Tensor* values = call.constant(kScatterIndices); values != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndexTuples(values->AsInt64s(), dims));
  }
  return std::vector<TensorType>{call.input_types[0]};
}

absl::Status EvaluateScatterNd(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const absl::Span<const int64_t> dims, ScatteredDims(call));
  const absl::Span<const int64_t> indices =
      std::get<std::vector<int64_t>>(inputs[kScatterIndices]->values);
  PLAIT_RETURN_IF_ERROR(CheckIndexTuples(indices, dims));
  const Shape& data = call.input_types[0].shape;
  const int64_t slice = ElementsOf(Shape(data.begin() + dims.size(), data.end()));
  std::vector<int64_t> places;
  for (size_t i = 0; i < indices.size(); i += dims.size()) {
    places.push_back(OffsetOfTuple(indices.subspan(i, dims.size()), dims) * slice);
  }
  return EvaluateScatter(call, inputs, places, outputs);
}

}  // namespace

// y = x, but y[indices[o..].., s..] = updates[o.., s..], or the sum, product, maximum or minimum of
// both: tuples of indices choose the slices that are written.
const OpSpec kScatterNDSpec = {
    .kind = OpKind::kScatterND,
    .since_opset = 11,
    .inputs = {3, 3},
    .infer = InferScatterNd,
    .work = WorkOfScatter,
    .evaluate = EvaluateScatterNd,
    .lower = LowerScatter,
};

}  // namespace plait
