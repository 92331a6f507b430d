#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

absl::Status WrongShape(absl::Span<const int64_t> wanted, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the new shape [", absl::StrJoin(wanted, ","), "] ", why));
}

// The new shape with zeros copied from the input; -1 is still in it.
absl::StatusOr<Shape> CopyZeros(const OpCall& call, absl::Span<const int64_t> wanted) {
  const Shape& from = call.input_types[0].shape;
  const bool allow_zero = call.attributes.Int("allowzero", 0) != 0;
  if (wanted.size() > static_cast<size_t>(kTensorRankMax)) {
    return WrongShape(wanted, absl::StrCat("must have at most ", kTensorRankMax, " dimensions"));
  }
  Shape shape;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1) return WrongShape(wanted, "must have no dimension below -1");
    if (wanted[i] == 0 && !allow_zero && i >= from.size()) {
      return WrongShape(wanted, "must have a 0 only where the input has a dimension to copy");
    }
    shape.push_back(wanted[i] == 0 && !allow_zero ? from[i] : wanted[i]);
  }
  return shape;
}

// [2,3,4] by [0,-1] gives [2,12].
Types InferReshape(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> wanted, ConstantInts(call, 1));
  PLAIT_ASSIGN_OR_RETURN(Shape shape, CopyZeros(call, wanted));
  const int64_t elements = call.input_types[0].elements();
  int64_t known = 1;
  for (int64_t dim : shape) known = dim == -1 ? known : SaturatingMultiply(known, dim);
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    if (std::find(unknown + 1, shape.end(), -1) != shape.end()) {
      return WrongShape(wanted, "must have at most one -1");
    }
    if (known == 0) return WrongShape(wanted, "must have no -1 beside a dimension of 0");
    *unknown = elements / known;
    known *= *unknown;
  }
  if (known != elements) {
    return WrongShape(wanted, absl::StrCat("must have as many elements as ",
                                           ShapeToString(call.input_types[0].shape)));
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// Opset 14 added allowzero; without a 0 in the shape it means nothing.
absl::Status LowerReshape(VersionedNode* node) {
  if (node->opset >= 14 || !node->attributes.Has("allowzero")) return absl::OkStatus();
  if (node->attributes.Int("allowzero", 0) != 0) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> shape, IntsOfInput(*node, 1));
    if (!shape.has_value() || std::find(shape->begin(), shape->end(), 0) != shape->end()) {
      return NeedsOpset("a shape with allowed zeros", 14);
    }
  }
  node->attributes.Erase("allowzero");
  return absl::OkStatus();
}

}  // namespace

// y = x in another shape: 0 copies the input's dimension (unless allowzero, since opset 14), -1
// takes what is left.
const OpSpec kReshapeSpec = {
    .kind = OpKind::kReshape,
    .inputs = {2, 2},
    .traits = kView,
    .infer = InferReshape,
    .work = NoWork,
    .evaluate = EvaluateView,
    .lower = LowerReshape,
};

}  // namespace plait
