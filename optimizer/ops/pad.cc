#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/padding.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kPads = 1;
constexpr size_t kValue = 2;
constexpr size_t kPadAxes = 3;

// Elements added before and behind each axis of the input; negative: removed.
struct Pads {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
};

absl::StatusOr<Pads> SpreadPads(absl::Span<const int64_t> pads, absl::Span<const int> axes,
                                int rank) {
  if (pads.size() != 2 * axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs two pads for each of ", axes.size(), " axes, has ", pads.size()));
  }
  Pads spread{std::vector<int64_t>(static_cast<size_t>(rank), 0),
              std::vector<int64_t>(static_cast<size_t>(rank), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    spread.begin[axes[i]] = pads[i];
    spread.end[axes[i]] = pads[axes.size() + i];
  }
  return spread;
}

absl::StatusOr<Pads> PadsOf(const OpCall& call) {
  const int rank = call.input_types[0].rank();
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, ConstantInts(call, kPads));
  std::vector<int64_t> given;
  for (int axis = 0; axis < rank; ++axis) given.push_back(axis);
  if (call.has_input(kPadAxes)) {
    PLAIT_ASSIGN_OR_RETURN(given, ConstantInts(call, kPadAxes));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(given, rank));
  return SpreadPads(pads, axes, rank);
}

absl::StatusOr<int64_t> PaddedDim(int64_t dim, int64_t begin, int64_t end, PadMode mode) {
  int64_t padded = 0;
  if (__builtin_add_overflow(dim, begin, &padded) || __builtin_add_overflow(padded, end, &padded) ||
      padded < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dimension of ", dim, " cannot be padded by ", begin, " and ", end));
  }
  if (mode == PadMode::kConstant) return padded;
  if (begin < 0 || end < 0) {
    return absl::UnimplementedError("negative pads need mode constant");
  }
  if (dim == 0 && padded > 0) {
    return absl::InvalidArgumentError("a dimension of 0 has no elements to pad with");
  }
  return padded;
}

absl::Status CheckValue(const OpCall& call) {
  if (!call.has_input(kValue)) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, kValue));
  if (call.input_types[kValue].elements() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the value must be a scalar, has shape ",
                                                 ShapeToString(call.input_types[kValue].shape)));
}

Types InferPad(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckValue(call));
  PLAIT_ASSIGN_OR_RETURN(const PadMode mode, PadModeOf(call.attributes));
  PLAIT_ASSIGN_OR_RETURN(const Pads pads, PadsOf(call));
  Shape shape = call.input_types[0].shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    PLAIT_ASSIGN_OR_RETURN(shape[axis],
                           PaddedDim(shape[axis], pads.begin[axis], pads.end[axis], mode));
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// Per axis and output position: the offset of its source in the input, or -1.
std::vector<std::vector<int64_t>> SourceOffsets(const Shape& from, const Shape& to,
                                                const Pads& pads, PadMode mode) {
  const Shape strides = RowMajorStrides(from);
  std::vector<std::vector<int64_t>> offsets(from.size());
  for (size_t axis = 0; axis < from.size(); ++axis) {
    for (int64_t i = 0; i < to[axis]; ++i) {
      const int64_t source = PaddedFrom(i - pads.begin[axis], from[axis], mode);
      offsets[axis].push_back(source < 0 ? -1 : source * strides[axis]);
    }
  }
  return offsets;
}

// Fills output positions of axes `axis` and inner, the outer ones being chosen; `offset` is -1 in
// the padding.
template <typename Values>
void FillPadded(absl::Span<const std::vector<int64_t>> offsets, int64_t offset, const Values& from,
                typename Values::value_type value, typename Values::iterator* next) {
  if (offsets.empty()) {
    *(*next)++ = offset < 0 ? value : from[offset];
    return;
  }
  for (int64_t step : offsets[0]) {
    const int64_t inner = offset < 0 || step < 0 ? -1 : offset + step;
    FillPadded(offsets.subspan(1), inner, from, value, next);
  }
}

absl::Status EvaluatePad(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  if (outputs[0].type.elements() == 0) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const PadMode mode, PadModeOf(call.attributes));
  PLAIT_ASSIGN_OR_RETURN(const Pads pads, PadsOf(call));
  const std::vector<std::vector<int64_t>> offsets =
      SourceOffsets(inputs[0]->type.shape, outputs[0].type.shape, pads, mode);
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    using Values = std::decay_t<decltype(from)>;
    typename Values::value_type value{};
    if (call.has_input(kValue)) value = std::get<Values>(inputs[kValue]->values)[0];
    auto next = to.begin();
    FillPadded(absl::MakeConstSpan(offsets), 0, from, value, &next);
  });
  return absl::OkStatus();
}

// Opset 11 made pads and value inputs.
absl::Status RaisePad(VersionedNode* node) {
  if (node->opset >= 11) return absl::OkStatus();
  IntsAttributeToInput(node, "pads", kPads);
  if (!node->attributes.Has("value")) return absl::OkStatus();
  const DataType dtype = node->input_types[0].dtype;
  if (!IsFloat(dtype)) {
    return absl::UnimplementedError("the type of a padded tensor must be known");
  }
  const double value = node->attributes.Float("value", 0.0f);
  SetConstantInput(node, kValue, Tensor::FromDoubles(TensorType{dtype, {}}, {value}));
  node->attributes.Erase("value");
  return absl::OkStatus();
}

// Opset 18 added axes: writes pads for all axes instead.
absl::Status LowerPadAxes(VersionedNode* node) {
  PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> given,
                         IntsOfInput(*node, kPadAxes));
  if (!given.has_value()) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> short_pads,
                         IntsOfInput(*node, kPads));
  if (!short_pads.has_value()) return NeedsOpset("a list of axes", 18);
  const int rank = node->input_types[0].rank();
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(*given, rank));
  PLAIT_ASSIGN_OR_RETURN(const Pads pads, SpreadPads(*short_pads, axes, rank));
  std::vector<int64_t> all = pads.begin;
  all.insert(all.end(), pads.end.begin(), pads.end.end());
  DropInput(node, kPadAxes);
  SetConstantInput(node, kPads, Tensor::Int64s(all));
  return absl::OkStatus();
}

absl::Status LowerPad(VersionedNode* node) {
  if (node->opset >= 19) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const PadMode mode, PadModeOf(node->attributes));
  if (mode == PadMode::kWrap) return NeedsOpset("mode wrap", 19);
  if (node->opset < 18) PLAIT_RETURN_IF_ERROR(LowerPadAxes(node));
  if (node->opset >= 11) return absl::OkStatus();
  if (!IsFloat(node->input_types[0].dtype)) return NeedsOpset("a pad of integers", 11);
  if (HasInput(*node, kValue)) {
    const std::optional<Tensor>& value = node->constants[kValue];
    if (!value.has_value()) return NeedsOpset("a computed value", 11);
    node->attributes.Set("value", static_cast<float>(value->AsDoubles()[0]));
    DropInput(node, kValue);
  }
  return IntsInputToAttribute(node, "pads", kPads);
}

}  // namespace

// y = x with elements added before and behind each axis: a constant, the edge, its reflection, or
// the other end. Opset 11 made pads and value inputs, 18 added axes, 19 mode wrap.
const OpSpec kPadSpec = {
    .kind = OpKind::kPad,
    .inputs = {2, 4},
    .infer = InferPad,
    .work = MovementWork,
    .evaluate = EvaluatePad,
    .raise = RaisePad,
    .lower = LowerPad,
};

}  // namespace plait
