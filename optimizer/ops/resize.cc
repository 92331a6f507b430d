#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/resizing.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

using Mode = Resampling::Mode;

Types InferResize(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const Resizing resizing, ReadResizing(call));
  const DataType dtype = call.input_types[0].dtype;
  if (resizing.resampling.mode != Mode::kNearest && !IsFloat(dtype)) {
    return absl::UnimplementedError("interpolation of integers is not implemented");
  }
  Shape shape;
  for (const ResizedAxis& axis : resizing.axes) shape.push_back(axis.output);
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// A multiplication and an addition for each tap along each axis that changes.
Work WorkOfResize(const OpCall& call, absl::Span<const TensorType> output_types) {
  const absl::StatusOr<Resizing> resizing = ReadResizing(call);
  const bool moves = !resizing.ok() || resizing->resampling.mode == Mode::kNearest ||
                     output_types[0].elements() == 0;
  if (moves) return MovementWork(call, output_types);
  int64_t taps = 0;
  for (const ResizedAxis& axis : resizing->axes) {
    if (IsKept(resizing->resampling, axis)) continue;
    taps = SaturatingAdd(taps, TapsPerElement(resizing->resampling, axis));
  }
  Work work = DefaultWork(call, output_types);
  work.flops = SaturatingMultiply(SaturatingMultiply(2, taps), output_types[0].elements());
  return work;
}

// A double as what is computed with.
template <typename T>
T NumberOf(double value) {
  if constexpr (std::is_same_v<T, FieldElement>) {
    return ToFieldElement(value);
  } else {
    return static_cast<T>(value);
  }
}

// Resizes the middle axis of [outer, axis, inner].
template <typename T>
std::vector<T> ResizeMiddle(const std::vector<T>& from, int64_t inner, const ResizedAxis& axis,
                            const AxisTaps& taps, T extrapolation_value) {
  const int64_t outer = static_cast<int64_t>(from.size()) / (axis.input * inner);
  std::vector<T> to(static_cast<size_t>(outer * axis.output * inner));
  for (int64_t line = 0; line < outer * axis.output; ++line) {
    const int64_t index = line % axis.output;
    T* const sums = to.data() + line * inner;
    if (taps.is_outside[static_cast<size_t>(index)]) {
      std::fill_n(sums, inner, extrapolation_value);
      continue;
    }
    for (int64_t tap = index * taps.count; tap < (index + 1) * taps.count; ++tap) {
      const T weight = NumberOf<T>(taps.weights[static_cast<size_t>(tap)]);
      const int64_t element = taps.elements[static_cast<size_t>(tap)];
      const T* const x = from.data() + (line / axis.output * axis.input + element) * inner;
      for (int64_t i = 0; i < inner; ++i) sums[i] = MultiplyAdd(weight, x[i], sums[i]);
    }
  }
  return to;
}

// The axes that change, those that shrink most first: no tensor in between is larger than both
// ends.
std::vector<size_t> OrderOf(const Resizing& resizing) {
  std::vector<size_t> order;
  for (size_t i = 0; i < resizing.axes.size(); ++i) {
    if (!IsKept(resizing.resampling, resizing.axes[i])) order.push_back(i);
  }
  const auto growth = [&](size_t i) {
    return static_cast<double>(resizing.axes[i].output) /
           static_cast<double>(resizing.axes[i].input);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return growth(a) < growth(b); });
  return order;
}

// One axis after the other. What lies outside along one stays so along the next, whose weights add
// up to 1.
absl::Status EvaluateResize(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  if (outputs[0].type.elements() == 0) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const Resizing resizing, ReadResizing(call));
  outputs[0].values = inputs[0]->values;
  Shape shape = inputs[0]->type.shape;
  for (size_t index : OrderOf(resizing)) {
    const ResizedAxis& axis = resizing.axes[index];
    const AxisTaps taps = TapsOf(resizing.resampling, axis);
    const int64_t inner = RowMajorStrides(shape)[index];
    std::visit(
        [&]<typename T>(std::vector<T>& values) {
          values =
              ResizeMiddle(values, inner, axis, taps, NumberOf<T>(resizing.extrapolation_value));
        },
        outputs[0].values);
    shape[index] = axis.output;
  }
  return absl::OkStatus();
}

void DropEmpty(VersionedNode* node, size_t index) {
  if (HasInput(*node, index) && node->input_types[index].shape == Shape{0}) DropInput(node, index);
}

// The scales as opset 10 has them, which says nothing of coordinates. Runtimes took the floor where
// the output is larger and the ceiling where it is smaller.
absl::StatusOr<std::string> OldNearestMode(const Tensor& scales) {
  if (!IsFloat(scales.type().dtype)) return absl::InvalidArgumentError("scales must be floats");
  const std::vector<double> values = scales.AsDoubles();
  if (std::all_of(values.begin(), values.end(), [](double x) { return x >= 1; })) return "floor";
  if (std::all_of(values.begin(), values.end(), [](double x) { return x <= 1; })) return "ceil";
  return absl::UnimplementedError("scales both above and below 1 need opset 11");
}

absl::Status RaiseFromTen(VersionedNode* node) {
  constexpr size_t kOldScales = 1;
  if (!HasInput(*node, kOldScales) || !node->constants[kOldScales].has_value()) {
    return absl::UnimplementedError("input 1 must be a small constant");
  }
  const Tensor scales = *node->constants[kOldScales];
  PLAIT_ASSIGN_OR_RETURN(std::string nearest, OldNearestMode(scales));
  SetConstantInput(node, kResizeScales, scales);
  DropInput(node, kOldScales);
  node->attributes.Set(kCoordinatesAttribute, std::string("asymmetric"));
  node->attributes.Set("nearest_mode", std::move(nearest));
  return absl::OkStatus();
}

// Opset 13 took away tf_half_pixel_for_nn, (x + 0.5) / scale, which is half_pixel moved by half an
// element: its floor is half_pixel rounded, and itself rounded with halves down is half_pixel's
// ceiling.
absl::Status RaiseCoordinates(VersionedNode* node) {
  if (node->attributes.String(kCoordinatesAttribute, "") != "tf_half_pixel_for_nn") {
    return absl::OkStatus();
  }
  const std::string nearest = node->attributes.String("nearest_mode", "round_prefer_floor");
  const bool floors = nearest == "floor";
  if (node->attributes.String("mode", "nearest") != "nearest" ||
      (!floors && nearest != "round_prefer_floor")) {
    return absl::UnimplementedError("tf_half_pixel_for_nn needs a nearest_mode that rounds down");
  }
  node->attributes.Set(kCoordinatesAttribute, std::string("half_pixel"));
  node->attributes.Set("nearest_mode", std::string(floors ? "round_prefer_ceil" : "ceil"));
  return absl::OkStatus();
}

// Opset 11 brought coordinates, and 13 let roi and scales be omitted instead of empty. A region
// that nothing crops says nothing.
absl::Status RaiseResize(VersionedNode* node) {
  if (node->opset < 11) return RaiseFromTen(node);
  PLAIT_RETURN_IF_ERROR(RaiseCoordinates(node));
  DropEmpty(node, kResizeSizes);
  DropEmpty(node, kResizeScales);
  DropEmpty(node, kResizeRoi);
  if (node->attributes.String(kCoordinatesAttribute, "") != "tf_crop_and_resize") {
    DropInput(node, kResizeRoi);
  }
  return absl::OkStatus();
}

// Writes `values`, one for each of `axes`, into `all`, which has one for each axis.
template <typename T>
void Spread(const std::vector<T>& values, absl::Span<const int> axes, absl::Span<T> all) {
  for (size_t i = 0; i < axes.size(); ++i) all[static_cast<size_t>(axes[i])] = values[i];
}

absl::Status LowerFloats(VersionedNode* node, size_t index, absl::Span<const int> axes,
                         std::vector<double> all) {
  if (!HasInput(*node, index)) return absl::OkStatus();
  if (!node->constants[index].has_value()) return NeedsOpset("a list of axes", 18);
  const std::vector<double> values = node->constants[index]->AsDoubles();
  const auto rank = static_cast<size_t>(node->input_types[0].rank());
  if (values.size() * rank != all.size() * axes.size()) return absl::OkStatus();  // an empty list
  for (size_t part = 0; part < all.size() / rank; ++part) {
    const auto begin = values.begin() + static_cast<int64_t>(part * axes.size());
    Spread(std::vector<double>(begin, begin + static_cast<int64_t>(axes.size())), axes,
           absl::MakeSpan(all).subspan(part * rank, rank));
  }
  SetConstantInput(node, index,
                   Tensor::FromDoubles(
                       {node->input_types[index].dtype, {static_cast<int64_t>(all.size())}}, all));
  return absl::OkStatus();
}

// Opset 18 added axes: writes lists for all of them instead.
absl::Status LowerResizeAxes(VersionedNode* node) {
  if (!node->attributes.Has("axes")) return absl::OkStatus();
  const TensorType type = node->input_types[0];
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes,
                         NormalizeAxes(node->attributes.Ints("axes"), type.rank()));
  const auto rank = static_cast<size_t>(type.rank());
  PLAIT_RETURN_IF_ERROR(LowerFloats(node, kResizeScales, axes, std::vector<double>(rank, 1)));
  std::vector<double> whole(2 * rank, 0);
  std::fill(whole.begin() + static_cast<int64_t>(rank), whole.end(), 1);
  PLAIT_RETURN_IF_ERROR(LowerFloats(node, kResizeRoi, axes, std::move(whole)));
  PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> sizes,
                         IntsOfInput(*node, kResizeSizes));
  if (sizes.has_value()) {
    std::vector<int64_t> all(type.shape.begin(), type.shape.end());
    Spread(*sizes, axes, absl::MakeSpan(all));
    SetConstantInput(node, kResizeSizes, Tensor::Int64s(all));
  }
  node->attributes.Erase("axes");
  return absl::OkStatus();
}

absl::Status LowerToTen(VersionedNode* node) {
  const std::string mode = node->attributes.String("mode", "nearest");
  const bool is_nearest = mode == "nearest";
  const bool has_scales =
      HasInput(*node, kResizeScales) && node->constants[kResizeScales].has_value();
  if (node->attributes.String(kCoordinatesAttribute, "") != "asymmetric" || mode == "cubic" ||
      !has_scales) {
    return NeedsOpset("a resize of this kind", 11);
  }
  const Tensor scales = *node->constants[kResizeScales];
  PLAIT_ASSIGN_OR_RETURN(const std::string nearest, OldNearestMode(scales));
  if (is_nearest && node->attributes.String("nearest_mode", "") != nearest) {
    return NeedsOpset("this nearest_mode", 11);
  }
  DropInput(node, kResizeSizes);
  DropInput(node, kResizeScales);
  SetConstantInput(node, 1, scales);
  node->attributes = {{"mode", mode}};
  return absl::OkStatus();
}

absl::Status LowerResize(VersionedNode* node) {
  if (node->opset >= 19) return absl::OkStatus();
  Attributes& attributes = node->attributes;
  if (attributes.String(kCoordinatesAttribute, "") == "half_pixel_symmetric") {
    return NeedsOpset("half_pixel_symmetric", 19);
  }
  if (node->opset >= 18) return absl::OkStatus();
  if (attributes.Int("antialias", 0) != 0) return NeedsOpset("antialias", 18);
  if (attributes.String("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return NeedsOpset("a policy for the aspect ratio", 18);
  }
  attributes.Erase("antialias");
  attributes.Erase("keep_aspect_ratio_policy");
  PLAIT_RETURN_IF_ERROR(LowerResizeAxes(node));
  if (node->opset >= 13) return absl::OkStatus();
  if (node->opset < 11) return LowerToTen(node);
  for (size_t index : {kResizeRoi, kResizeScales}) {
    if (HasInput(*node, index)) continue;
    SetConstantInput(node, index, Tensor::Of<float>({0}, {}));
  }
  return absl::OkStatus();
}

// Opsets before 10 call it Upsample, which knows scales of 1 and more.
absl::StatusOr<std::vector<TensorId>> ExpandResize(const Node& node, GraphBuilder* builder) {
  const Attributes& attributes = *node.attributes;
  const std::string mode = attributes.String("mode", "nearest");
  const bool has_scales = node.inputs.size() > kResizeScales &&
                          node.inputs[kResizeScales] != kNoTensor &&
                          builder->tensor(node.inputs[kResizeScales]).constant != nullptr &&
                          node.inputs.size() == kResizeScales + 1;
  const bool same = attributes.String(kCoordinatesAttribute, "") == "asymmetric" &&
                    (mode == "linear" ||
                     (mode == "nearest" && attributes.String("nearest_mode", "") == "floor")) &&
                    !attributes.Has("axes") && attributes.Int("antialias", 0) == 0;
  if (!has_scales || !same) return NeedsOpset("a resize of this kind", 10);
  Expansion expansion(builder);
  const TensorId y = expansion.Add(OpKind::kUpsample, {node.inputs[0], node.inputs[kResizeScales]},
                                   {{"mode", mode}});
  if (y == kNoTensor) return NeedsOpset("scales below 1", 10);
  return expansion.Outputs({y});
}

}  // namespace

// y[o] = the sum of weights[o][k] x[taps[o][k]] along each axis: the nearest element, or two or
// four around a position, more of them with antialias. Opset 11 brought coordinates, 18 axes and
// antialias, 19 half_pixel_symmetric.
const OpSpec kResizeSpec = {
    .kind = OpKind::kResize,
    .since_opset = 10,
    .inputs = {1, 4},
    .infer = InferResize,
    .work = WorkOfResize,
    .evaluate = EvaluateResize,
    .raise = RaiseResize,
    .lower = LowerResize,
    .expand = ExpandResize,
};

}  // namespace plait
