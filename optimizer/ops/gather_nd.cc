#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr size_t kTupleIndices = 1;

// Data [batch.., indexed.., slice..] and indices [batch.., outer.., depth], where `depth` numbers
// choose along the indexed axes, give [batch.., outer.., slice..].
struct View {
  size_t batch_dims;
  size_t depth;
};

absl::StatusOr<View> ViewOf(const OpCall& call) {
  const Shape& data = call.input_types[0].shape;
  const Shape& indices = call.input_types[kTupleIndices].shape;
  const int64_t batch_dims = call.attributes.Int("batch_dims", 0);
  if (data.empty() || indices.empty()) {
    return absl::InvalidArgumentError("data and indices must have a dimension");
  }
  if (batch_dims < 0 || batch_dims >= static_cast<int64_t>(std::min(data.size(), indices.size()))) {
    return absl::InvalidArgumentError(absl::StrCat("batch_dims must be 0 to ",
                                                   std::min(data.size(), indices.size()) - 1,
                                                   ", is ", batch_dims));
  }
  const auto batch = static_cast<size_t>(batch_dims);
  if (!std::equal(data.begin(), data.begin() + batch_dims, indices.begin())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the first ", batch_dims, " dimensions of data and indices must be equal"));
  }
  const int64_t depth = indices.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.size() - batch)) {
    return absl::InvalidArgumentError(absl::StrCat("the last dimension of indices must be 1 to ",
                                                   data.size() - batch, ", is ", depth));
  }
  return View{batch, static_cast<size_t>(depth)};
}

absl::Span<const int64_t> GatheredDims(const View& view, const Shape& data) {
  return absl::MakeConstSpan(data).subspan(view.batch_dims, view.depth);
}

Types InferGatherNd(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kTupleIndices, TypeSet::kInteger));
  PLAIT_ASSIGN_OR_RETURN(const View view, ViewOf(call));
  const Shape& data = call.input_types[0].shape;
  const Shape& indices = call.input_types[kTupleIndices].shape;
  if (const Tensor* values = call.constant(kTupleIndices); values != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndexTuples(values->AsInt64s(), GatheredDims(view, data)));
  }
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + view.batch_dims + view.depth, data.end());
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

int64_t ElementsFrom(const Shape& shape, size_t first) {
  int64_t elements = 1;
  for (size_t i = first; i < shape.size(); ++i) elements *= shape[i];
  return elements;
}

absl::Status EvaluateGatherNd(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const View view, ViewOf(call));
  const Shape& data = inputs[0]->type.shape;
  const Shape& indices_shape = inputs[kTupleIndices]->type.shape;
  const absl::Span<const int64_t> dims = GatheredDims(view, data);
  const absl::Span<const int64_t> indices =
      std::get<std::vector<int64_t>>(inputs[kTupleIndices]->values);
  PLAIT_RETURN_IF_ERROR(CheckIndexTuples(indices, dims));
  const int64_t batch_elements = ElementsFrom(data, view.batch_dims);
  const int64_t slice_elements = ElementsFrom(data, view.batch_dims + view.depth);
  const int64_t tuples_per_batch = std::max<int64_t>(
      1, ElementsFrom(indices_shape, view.batch_dims) / static_cast<int64_t>(view.depth));
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    for (int64_t tuple = 0; tuple * slice_elements < static_cast<int64_t>(to.size()); ++tuple) {
      const int64_t offset =
          OffsetOfTuple(indices.subspan(static_cast<size_t>(tuple) * view.depth, view.depth), dims);
      const int64_t source = tuple / tuples_per_batch * batch_elements + offset * slice_elements;
      std::copy_n(from.begin() + source, slice_elements, to.begin() + tuple * slice_elements);
    }
  });
  return absl::OkStatus();
}

}  // namespace

// y[b.., o.., s..] = x[b.., indices[b.., o..].., s..]: tuples of indices choose slices. batch_dims
// came with opset 12.
const OpSpec kGatherNDSpec = {
    .kind = OpKind::kGatherND,
    .since_opset = 11,
    .inputs = {2, 2},
    .traits = kDataMovement,
    .infer = InferGatherNd,
    .work = MovementWork,
    .evaluate = EvaluateGatherNd,
};

}  // namespace plait
