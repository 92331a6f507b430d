#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/grid_sampling.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// X [n, c, spatial...], grid [n, spatial of the result..., as many numbers as there are axes].
Types InferGridSample(const OpCall& call) {
  if (!call.has_input(0) || !Contains(TypeSet::kFloat, call.input_types[0].dtype)) {
    return absl::UnimplementedError("samples of anything but floats are not implemented");
  }
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kFloat));
  PLAIT_RETURN_IF_ERROR(ReadGridSampling(call.attributes).status());
  const TensorType& x = call.input_types[0];
  const TensorType& grid = call.input_types[1];
  if (x.rank() < 3 || grid.rank() != x.rank() || grid.shape[0] != x.shape[0] ||
      grid.shape.back() != x.rank() - 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a grid ", grid.ToString(), " does not fit ", x.ToString()));
  }
  if (x.rank() > 5) {
    return absl::UnimplementedError("more than three spatial axes are not implemented");
  }
  Shape shape = grid.shape;
  shape.pop_back();
  shape.insert(shape.begin() + 1, x.shape[1]);
  for (int i = 2; i < x.rank(); ++i) {
    if (x.shape[i] == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the spatial axes of ", x.ToString(), " must not be empty"));
    }
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(x.dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

Work WorkOfGridSample(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const absl::StatusOr<GridSampling> sampling = ReadGridSampling(call.attributes);
  int64_t taps = 1;
  const int64_t of_axis = sampling.ok() ? TapsOf(*sampling) : 1;
  for (int i = 2; i < call.input_types[0].rank(); ++i) taps *= of_axis;
  work.flops = SaturatingMultiply(output_types[0].elements(), 2 * taps);
  return work;
}

// One plane of X at the taps of all three axes; those that X lacks have one element.
double SampleAt(const double* plane, const std::array<GridTaps, 3>& taps,
                const std::array<int64_t, 3>& extents) {
  double sum = 0;
  for (int i = 0; i < taps[0].count; ++i) {
    for (int j = 0; j < taps[1].count; ++j) {
      for (int k = 0; k < taps[2].count; ++k) {
        const int64_t a = taps[0].elements[i];
        const int64_t b = taps[1].elements[j];
        const int64_t c = taps[2].elements[k];
        if (a < 0 || b < 0 || c < 0) continue;
        sum += taps[0].weights[i] * taps[1].weights[j] * taps[2].weights[k] *
               plane[(a * extents[1] + b) * extents[2] + c];
      }
    }
  }
  return sum;
}

absl::Status EvaluateGridSample(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no positions");
  if (y->empty()) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const GridSampling sampling, ReadGridSampling(call.attributes));
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const auto& grid = std::get<std::vector<double>>(inputs[1]->values);
  const Shape& shape = call.input_types[0].shape;
  const size_t spatial = shape.size() - 2;
  std::array<int64_t, 3> extents = {1, 1, 1};
  std::vector<SampledAxis> axes;
  for (size_t i = 0; i < spatial; ++i) {
    extents[3 - spatial + i] = shape[i + 2];
    axes.emplace_back(sampling, shape[i + 2]);
  }
  const int64_t planes = shape[0] * shape[1];
  const int64_t plane_elements = extents[0] * extents[1] * extents[2];
  const int64_t positions = static_cast<int64_t>(y->size()) / planes;
  GridTaps only;
  only.elements[0] = 0;
  only.weights[0] = 1;
  for (int64_t at = 0; at < shape[0] * positions; ++at) {
    std::array<GridTaps, 3> taps = {only, only, only};
    for (size_t i = 0; i < spatial; ++i) {
      // The grid's numbers belong to the axes from the last one on.
      const double number = grid[at * static_cast<int64_t>(spatial) + spatial - 1 - i];
      taps[3 - spatial + i] = axes[i].At(number, call.input_types[1].dtype);
    }
    for (int64_t c = 0; c < shape[1]; ++c) {
      const int64_t plane = at / positions * shape[1] + c;
      (*y)[plane * positions + at % positions] =
          SampleAt(x.data() + plane * plane_elements, taps, extents);
    }
  }
  return absl::OkStatus();
}

// Until opset 19 there were images only, and the modes had their names for these.
absl::Status RaiseGridSample(VersionedNode* node) {
  if (node->opset >= 20) return absl::OkStatus();
  const std::string mode = node->attributes.String("mode", "bilinear");
  if (mode == "bilinear") node->attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") node->attributes.Set("mode", std::string("cubic"));
  return absl::OkStatus();
}

absl::Status LowerGridSample(VersionedNode* node) {
  if (node->opset >= 20) return absl::OkStatus();
  if (node->input_types[0].rank() != 4) return NeedsOpset("a form for other than images", 20);
  const std::string mode = node->attributes.String("mode", "linear");
  if (mode == "linear") node->attributes.Set("mode", std::string("bilinear"));
  if (mode == "cubic") node->attributes.Set("mode", std::string("bicubic"));
  return absl::OkStatus();
}

}  // namespace

// y[n,c,p] = x[n,c] at the position that grid[n,p] names, between -1 and 1 along each axis
// (Jaderberg et al., Spatial Transformer Networks, NeurIPS 2015).
const OpSpec kGridSampleSpec = {
    .kind = OpKind::kGridSample,
    .since_opset = 16,
    .inputs = {2, 2},
    .infer = InferGridSample,
    .work = WorkOfGridSample,
    .evaluate = EvaluateGridSample,
    .raise = RaiseGridSample,
    .lower = LowerGridSample,
};

}  // namespace plait
