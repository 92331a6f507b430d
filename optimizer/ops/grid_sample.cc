#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// The factor of the cubic kernel (Keys, 1981), as in Resize's default.
constexpr double kCubicFactor = -0.75;

// Beyond these no axis has elements, and what is within can be counted in integers.
constexpr double kCoordinateMax = 1 << 30;

enum class Padding { kZeros, kBorder, kReflection };

// How the grid's numbers are read.
struct Sampling {
  std::string mode;
  Padding padding = Padding::kZeros;
  bool aligns_corners = false;
};

absl::StatusOr<Sampling> SamplingOf(const Attributes& attributes) {
  Sampling sampling;
  sampling.mode = attributes.String("mode", "linear");
  if (sampling.mode != "linear" && sampling.mode != "nearest" && sampling.mode != "cubic") {
    return absl::InvalidArgumentError(
        absl::StrCat("mode must be linear, nearest or cubic, is ", sampling.mode));
  }
  const std::string padding = attributes.String("padding_mode", "zeros");
  if (padding == "border") {
    sampling.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    sampling.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return absl::InvalidArgumentError(
        absl::StrCat("padding_mode must be zeros, border or reflection, is ", padding));
  }
  sampling.aligns_corners = attributes.Int("align_corners", 0) != 0;
  return sampling;
}

// X [n, c, spatial...], grid [n, spatial of the result..., as many numbers as there are axes].
Types Infer(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kFloat));
  PLAIT_RETURN_IF_ERROR(SamplingOf(call.attributes).status());
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

int64_t TapsOf(const std::string& mode) { return mode == "nearest" ? 1 : mode == "linear" ? 2 : 4; }

Work WorkOfCall(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  int64_t taps = 1;
  const int64_t of_axis = TapsOf(call.attributes.String("mode", "linear"));
  for (int i = 2; i < call.input_types[0].rank(); ++i) taps *= of_axis;
  work.flops = SaturatingMultiply(output_types[0].elements(), 2 * taps);
  return work;
}

// What a sample reads along one axis: elements (-1: none) and their weights.
struct Taps {
  std::array<int64_t, 4> elements = {-1, -1, -1, -1};
  std::array<double, 4> weights = {};
  int count = 1;
};

// A position among `extent` elements, bounced off both ends until it is within them.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double beyond = x < low ? low - x : x - high;
  const double turns = std::floor(beyond / range);
  const double rest = beyond - turns * range;
  const bool from_low = (std::fmod(turns, 2) == 0) == (x < low);
  return from_low ? low + rest : high - rest;
}

// One axis of X.
class SampledAxis {
 public:
  SampledAxis(const Sampling& sampling, int64_t extent)
      : sampling_(sampling),
        extent_(extent),
        low_(sampling.aligns_corners ? 0 : -0.5),
        high_(static_cast<double>(extent) - (sampling.aligns_corners ? 1 : 0.5)) {}

  // From a number of the grid, where -1 and 1 are the ends of the axis. NaN is beyond the first.
  Taps At(double number, DataType dtype) const {
    double x = Position(number, dtype);
    x = x > -kCoordinateMax ? std::min(x, kCoordinateMax) : -kCoordinateMax;
    if (sampling_.mode == "nearest") x = std::nearbyint(x);
    if (x < low_ || x > high_) {
      if (sampling_.padding == Padding::kBorder) {
        x = std::clamp(x, 0.0, static_cast<double>(extent_ - 1));
      } else if (sampling_.padding == Padding::kReflection) {
        x = Reflect(x, low_, high_);
      }
    }
    Taps taps;
    const auto first = static_cast<int64_t>(std::floor(x));
    const double rest = x - std::floor(x);
    if (sampling_.mode == "nearest") {
      taps.elements[0] = ElementAt(static_cast<int64_t>(x));
      taps.weights[0] = 1;
    } else if (sampling_.mode == "linear") {
      taps.count = 2;
      taps.weights = {1 - rest, rest};
      for (int i = 0; i < 2; ++i) taps.elements[i] = ElementAt(first + i);
    } else {
      taps.count = 4;
      for (int i = 0; i < 4; ++i) {
        taps.weights[i] = CubicWeight(std::abs(rest - (i - 1)));
        taps.elements[i] = ElementAt(first - 1 + i);
      }
    }
    return taps;
  }

 private:
  // In the numbers of the grid, as runtimes compute it: in double the nearest element of a position
  // between two would be another.
  double Position(double number, DataType dtype) const {
    if (dtype == DataType::kFloat64) {
      return sampling_.aligns_corners ? (number + 1) / 2 * static_cast<double>(extent_ - 1)
                                      : ((number + 1) * static_cast<double>(extent_) - 1) / 2;
    }
    const auto n = static_cast<float>(number);
    return sampling_.aligns_corners ? (n + 1) / 2 * static_cast<float>(extent_ - 1)
                                    : ((n + 1) * static_cast<float>(extent_) - 1) / 2;
  }

  int64_t ElementAt(int64_t index) const {
    if (index >= 0 && index < extent_) return index;
    if (sampling_.padding == Padding::kZeros) return -1;
    if (sampling_.padding == Padding::kReflection) {
      index = static_cast<int64_t>(Reflect(static_cast<double>(index), low_, high_));
    }
    return std::clamp<int64_t>(index, 0, extent_ - 1);
  }

  static double CubicWeight(double distance) {
    constexpr double a = kCubicFactor;
    if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  }

  Sampling sampling_;
  int64_t extent_;
  double low_;
  double high_;
};

// One plane of X at the taps of all three axes; those that X lacks have one element.
double SampleAt(const double* plane, const std::array<Taps, 3>& taps,
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

absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no positions");
  if (y->empty()) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const Sampling sampling, SamplingOf(call.attributes));
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
  Taps only;
  only.elements[0] = 0;
  only.weights[0] = 1;
  for (int64_t at = 0; at < shape[0] * positions; ++at) {
    std::array<Taps, 3> taps = {only, only, only};
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
absl::Status Raise(VersionedNode* node) {
  if (node->opset >= 20) return absl::OkStatus();
  const std::string mode = node->attributes.String("mode", "bilinear");
  if (mode == "bilinear") node->attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") node->attributes.Set("mode", std::string("cubic"));
  return absl::OkStatus();
}

absl::Status Lower(VersionedNode* node) {
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
    .infer = Infer,
    .work = WorkOfCall,
    .evaluate = Evaluate,
    .raise = Raise,
    .lower = Lower,
};

}  // namespace plait
