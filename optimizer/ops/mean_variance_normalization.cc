#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// Added to the deviation, as ONNX's definition has it.
constexpr double kEpsilon = 1e-9;

// Ascending.
absl::StatusOr<std::vector<int>> Axes(const Attributes& attributes, int rank) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<int> axes,
                         NormalizeAxes(attributes.Ints("axes", {0, 2, 3}), rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

Types InferMeanVarianceNormalization(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(Axes(call.attributes, call.input_types[0].rank()).status());
  return InferUnary(call, TypeSet::kFloat);
}

absl::Status EvaluateMeanVarianceNormalization(const OpCall& call, EvalInputs inputs,
                                               EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  if (y->empty()) return absl::OkStatus();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const Shape& shape = inputs[0]->type.shape;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes,
                         Axes(call.attributes, inputs[0]->type.rank()));
  Shape kept = shape;
  double count = 1;
  for (const int axis : axes) {
    kept[axis] = 1;
    count *= static_cast<double>(shape[axis]);
  }
  const auto groups = static_cast<size_t>(ElementsOf(kept));
  const std::array<Shape, 1> strides = {BroadcastStrides(kept, shape)};
  std::vector<double> means(groups, 0.0);
  ForEachIndex(shape, strides, [&](int64_t index, const std::array<int64_t, 1>& group) {
    means[group[0]] += x[index] / count;
  });
  std::vector<double> variances(groups, 0.0);
  ForEachIndex(shape, strides, [&](int64_t index, const std::array<int64_t, 1>& group) {
    const double deviation = x[index] - means[group[0]];
    variances[group[0]] += deviation * deviation / count;
  });
  ForEachIndex(shape, strides, [&](int64_t index, const std::array<int64_t, 1>& group) {
    (*y)[index] = (x[index] - means[group[0]]) / (std::sqrt(variances[group[0]]) + kEpsilon);
  });
  return absl::OkStatus();
}

// The mean over axes that are no neighbours is the mean of means over runs of neighbours, which
// kernels are best at.
TensorId MeanOver(TensorId x, const std::vector<int>& axes, Expansion* expansion) {
  std::vector<int64_t> run;
  for (size_t i = axes.size(); i-- > 0;) {
    run.push_back(axes[i]);
    if (i > 0 && axes[i - 1] == axes[i] - 1) continue;
    x = expansion->Add(OpKind::kReduceMean, {x, expansion->Ints(std::exchange(run, {}))});
  }
  return x;
}

absl::StatusOr<std::vector<TensorId>> ExpandMeanVarianceNormalization(const Node& node,
                                                                      GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorType type = expansion.type(node.inputs[0]);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes, Axes(*node.attributes, type.rank()));
  if (axes.empty()) return absl::UnimplementedError("a form of no axes is not implemented");
  const DataType wide = WideType(type.dtype);
  const TensorId x = expansion.Cast(node.inputs[0], wide);
  const TensorId deviation = expansion.Add(OpKind::kSub, {x, MeanOver(x, axes, &expansion)});
  const TensorId squares = expansion.Add(OpKind::kMul, {deviation, deviation});
  const TensorId root = expansion.Add(OpKind::kSqrt, {MeanOver(squares, axes, &expansion)});
  const TensorId divisor = expansion.Add(OpKind::kAdd, {root, expansion.Scalar(wide, kEpsilon)});
  const TensorId y = expansion.Add(OpKind::kDiv, {deviation, divisor});
  return expansion.Outputs({expansion.Cast(y, type.dtype)});
}

bool ExpandsMeanVarianceNormalizationAtImport(const OpCall& call) {
  return call.input_types[0].elements() > 0 && !call.attributes.Ints("axes", {0, 2, 3}).empty();
}

}  // namespace

// y = (x - mean) / (deviation + 1e-9), with the statistics of all elements that differ along the
// axes only.
const OpSpec kMeanVarianceNormalizationSpec = {
    .kind = OpKind::kMeanVarianceNormalization,
    .since_opset = 9,
    .infer = InferMeanVarianceNormalization,
    .evaluate = EvaluateMeanVarianceNormalization,
    .expand = ExpandMeanVarianceNormalization,
    .expands_at_import = ExpandsMeanVarianceNormalizationAtImport,
};

}  // namespace plait
