#include "optimizer/ops/shared/resizing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

using Coordinates = Resampling::Coordinates;
using Nearest = Resampling::Nearest;

// How wanted sizes are met by one scale for all axes.
enum class Policy { kStretch, kNotLarger, kNotSmaller };

template <typename Choice>
using Words = std::initializer_list<std::pair<absl::string_view, Choice>>;

// What the attribute chooses; the first one when it is missing.
template <typename Choice>
absl::StatusOr<Choice> ChoiceOf(const Attributes& attributes, absl::string_view name,
                                Words<Choice> words) {
  const std::string word = attributes.String(name, words.begin()->first);
  std::vector<absl::string_view> known;
  for (const auto& [text, choice] : words) {
    if (word == text) return choice;
    known.push_back(text);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be one of ", absl::StrJoin(known, ", "), ", is ", word));
}

absl::StatusOr<Resampling> ReadResampling(const Attributes& attributes) {
  Resampling read;
  PLAIT_ASSIGN_OR_RETURN(read.mode,
                         ChoiceOf<Resampling::Mode>(attributes, "mode",
                                                    {{"nearest", Resampling::Mode::kNearest},
                                                     {"linear", Resampling::Mode::kLinear},
                                                     {"cubic", Resampling::Mode::kCubic}}));
  PLAIT_ASSIGN_OR_RETURN(
      read.coordinates,
      ChoiceOf<Coordinates>(attributes, kCoordinatesAttribute,
                            {{"half_pixel", Coordinates::kHalfPixel},
                             {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
                             {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
                             {"align_corners", Coordinates::kAlignCorners},
                             {"asymmetric", Coordinates::kAsymmetric},
                             {"tf_crop_and_resize", Coordinates::kCrop}}));
  PLAIT_ASSIGN_OR_RETURN(read.nearest,
                         ChoiceOf<Nearest>(attributes, "nearest_mode",
                                           {{"round_prefer_floor", Nearest::kRoundPreferFloor},
                                            {"round_prefer_ceil", Nearest::kRoundPreferCeil},
                                            {"floor", Nearest::kFloor},
                                            {"ceil", Nearest::kCeil}}));
  read.cubic_coeff_a = attributes.Float("cubic_coeff_a", -0.75f);
  read.exclude_outside = attributes.Int("exclude_outside", 0) != 0;
  read.antialias = attributes.Int("antialias", 0) != 0;
  if (read.antialias && read.mode == Resampling::Mode::kNearest) {
    return absl::InvalidArgumentError("antialias needs mode linear or cubic");
  }
  return read;
}

bool IsGiven(const OpCall& call, size_t index) {
  return call.has_input(index) && call.input_types[index].shape != Shape{0};
}

// `count` finite numbers.
absl::StatusOr<std::vector<double>> ConstantFloats(const OpCall& call, size_t index, size_t count) {
  const Tensor* value = call.constant(index);
  if (value == nullptr) {
    return absl::UnimplementedError(absl::StrCat("input ", index, " must be a small constant"));
  }
  const TensorType& type = value->type();
  if (!IsFloat(type.dtype) || type.shape != Shape{static_cast<int64_t>(count)}) {
    return absl::InvalidArgumentError(absl::StrCat("input ", index, " must be a list of ", count,
                                                   " floats, is ", type.ToString()));
  }
  std::vector<double> values = value->AsDoubles();
  if (std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    return values;
  }
  return absl::InvalidArgumentError(absl::StrCat("input ", index, " must be finite"));
}

// In float32, as ONNX infers shapes: 0.7f * 10 is 7 there and less in double.
absl::Status Scale(double scale, ResizedAxis* axis) {
  if (scale <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("a scale must be positive, is ", scale));
  }
  axis->scale = scale;
  axis->extent =
      scale == 1 ? static_cast<double>(axis->input)
                 : static_cast<double>(static_cast<float>(scale) * static_cast<float>(axis->input));
  if (axis->extent > static_cast<double>(kTensorElementsMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dimension of ", axis->input, " cannot be scaled by ", scale));
  }
  axis->output = static_cast<int64_t>(axis->extent);
  return absl::OkStatus();
}

// A float32, as the scales of the input are.
double ScaleTo(int64_t size, const ResizedAxis& axis) {
  return static_cast<double>(static_cast<float>(size) / static_cast<float>(axis.input));
}

absl::Status StretchTo(int64_t size, ResizedAxis* axis) {
  if (size < 0 || (axis->input == 0 && size > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dimension of ", axis->input, " cannot be resized to ", size));
  }
  if (size == axis->input) return absl::OkStatus();
  axis->scale = ScaleTo(size, *axis);
  axis->extent = static_cast<double>(size);
  axis->output = size;
  return absl::OkStatus();
}

// One scale for all axes: the smallest or the largest of those that would stretch.
absl::Status KeepAspectRatio(Policy policy, absl::Span<const int64_t> sizes,
                             absl::Span<ResizedAxis* const> axes) {
  if (axes.empty()) return absl::OkStatus();
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->input == 0 || sizes[i] <= 0) {
      return absl::InvalidArgumentError("an aspect ratio needs elements along every axis");
    }
    scales.push_back(ScaleTo(sizes[i], *axes[i]));
  }
  const auto [smallest, largest] = std::minmax_element(scales.begin(), scales.end());
  const double scale = policy == Policy::kNotLarger ? *smallest : *largest;
  for (ResizedAxis* axis : axes) {
    PLAIT_RETURN_IF_ERROR(Scale(scale, axis));
    axis->output = static_cast<int64_t>(std::floor(axis->extent + 0.5));
  }
  return absl::OkStatus();
}

absl::Status ReadSizes(const OpCall& call, absl::Span<ResizedAxis* const> axes) {
  PLAIT_ASSIGN_OR_RETURN(const Policy policy,
                         ChoiceOf<Policy>(call.attributes, "keep_aspect_ratio_policy",
                                          {{"stretch", Policy::kStretch},
                                           {"not_larger", Policy::kNotLarger},
                                           {"not_smaller", Policy::kNotSmaller}}));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ConstantInts(call, kResizeSizes));
  if (sizes.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs ", axes.size(), " sizes, has ", sizes.size()));
  }
  if (policy != Policy::kStretch) return KeepAspectRatio(policy, sizes, axes);
  for (size_t i = 0; i < axes.size(); ++i) PLAIT_RETURN_IF_ERROR(StretchTo(sizes[i], axes[i]));
  return absl::OkStatus();
}

absl::Status ReadScales(const OpCall& call, absl::Span<ResizedAxis* const> axes) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<double> scales,
                         ConstantFloats(call, kResizeScales, axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) PLAIT_RETURN_IF_ERROR(Scale(scales[i], axes[i]));
  return absl::OkStatus();
}

absl::Status ReadRoi(const OpCall& call, absl::Span<ResizedAxis* const> axes) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<double> roi,
                         ConstantFloats(call, kResizeRoi, 2 * axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i]->roi_begin = roi[i];
    axes[i]->roi_end = roi[axes.size() + i];
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Resizing> ReadResizing(const OpCall& call) {
  Resizing resizing;
  PLAIT_ASSIGN_OR_RETURN(resizing.resampling, ReadResampling(call.attributes));
  resizing.extrapolation_value = call.attributes.Float("extrapolation_value", 0.0f);
  for (int64_t dim : call.input_types[0].shape) {
    resizing.axes.push_back({.input = dim, .output = dim, .extent = static_cast<double>(dim)});
  }
  const int rank = call.input_types[0].rank();
  std::vector<int64_t> given(static_cast<size_t>(rank));
  std::iota(given.begin(), given.end(), 0);
  if (call.attributes.Has("axes")) given = call.attributes.Ints("axes");
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> indices, NormalizeAxes(given, rank));
  std::vector<ResizedAxis*> axes;
  for (int index : indices) axes.push_back(&resizing.axes[static_cast<size_t>(index)]);
  const bool has_scales = IsGiven(call, kResizeScales);
  if (has_scales == IsGiven(call, kResizeSizes)) {
    return absl::InvalidArgumentError("needs either scales or sizes");
  }
  PLAIT_RETURN_IF_ERROR(has_scales ? ReadScales(call, axes) : ReadSizes(call, axes));
  if (resizing.resampling.coordinates == Coordinates::kCrop) {
    PLAIT_RETURN_IF_ERROR(ReadRoi(call, axes));
  }
  return resizing;
}

absl::StatusOr<Resizing> ReadResizing(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<TensorType> types;
  std::vector<const Tensor*> constants;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool omitted = node.inputs[i] == kNoTensor;
    types.push_back(omitted ? TensorType{} : graph.type(node.inputs[i]));
    constants.push_back(omitted ? nullptr : graph.inline_constant(id, static_cast<int>(i)));
  }
  return ReadResizing(OpCall{*node.attributes, types, constants});
}

}  // namespace plait
