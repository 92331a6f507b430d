#include "optimizer/ops/shared/recurrent_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// A function's name and the defaults of what it takes.
struct FunctionName {
  absl::string_view name;
  RecurrentFunction function;
  bool has_alpha;
  bool has_beta;
  float alpha;
  float beta;
};

constexpr FunctionName kFunctions[] = {
    {"Affine", RecurrentFunction::kAffine, true, true, 1, 0},
    {"Elu", RecurrentFunction::kElu, true, false, 1, 0},
    {"HardSigmoid", RecurrentFunction::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"LeakyRelu", RecurrentFunction::kLeakyRelu, true, false, 0.01f, 0},
    {"Relu", RecurrentFunction::kRelu, false, false, 0, 0},
    {"ScaledTanh", RecurrentFunction::kScaledTanh, true, true, 1, 1},
    {"Sigmoid", RecurrentFunction::kSigmoid, false, false, 0, 0},
    {"Softplus", RecurrentFunction::kSoftplus, false, false, 0, 0},
    {"Softsign", RecurrentFunction::kSoftsign, false, false, 0, 0},
    {"Tanh", RecurrentFunction::kTanh, false, false, 0, 0},
    {"ThresholdedRelu", RecurrentFunction::kThresholdedRelu, true, false, 1, 0},
};

template <typename T>
std::vector<T> ListOf(const Attributes& attributes, absl::string_view name) {
  const AttributeValue* const value = attributes.Find(name);
  const auto* const list = value == nullptr ? nullptr : std::get_if<std::vector<T>>(value);
  return list == nullptr ? std::vector<T>() : *list;
}

// The next value of a list that functions consume in their order, or the default.
float TakeNext(const std::vector<float>& values, size_t* taken, float otherwise) {
  return *taken < values.size() ? values[(*taken)++] : otherwise;
}

// Alphas and betas are lists of their own: of {"Elu", "Tanh", "HardSigmoid"} the second alpha is
// HardSigmoid's.
absl::StatusOr<std::vector<RecurrentActivation>> ReadActivations(const RecurrentKind& kind,
                                                                 const Attributes& attributes,
                                                                 int64_t directions) {
  std::vector<std::string> names = ListOf<std::string>(attributes, "activations");
  if (names.empty()) {
    for (int64_t i = 0; i < directions * kind.activations; ++i) {
      names.push_back(kind.gates > 1 && i % kind.activations == 0 ? "Sigmoid" : "Tanh");
    }
  }
  if (static_cast<int64_t>(names.size()) != directions * kind.activations) {
    return absl::InvalidArgumentError(absl::StrCat(
        "activations must be ", directions * kind.activations, ", are ", names.size()));
  }
  const std::vector<float> alphas = ListOf<float>(attributes, "activation_alpha");
  const std::vector<float> betas = ListOf<float>(attributes, "activation_beta");
  size_t alphas_taken = 0;
  size_t betas_taken = 0;
  std::vector<RecurrentActivation> activations;
  for (const std::string& name : names) {
    const auto* const found = std::find_if(
        std::begin(kFunctions), std::end(kFunctions),
        [&](const FunctionName& entry) { return absl::EqualsIgnoreCase(entry.name, name); });
    if (found == std::end(kFunctions)) {
      return absl::UnimplementedError(absl::StrCat("activation ", name, " is not implemented"));
    }
    RecurrentActivation& activation = activations.emplace_back();
    activation.function = found->function;
    activation.alpha =
        found->has_alpha ? TakeNext(alphas, &alphas_taken, found->alpha) : found->alpha;
    activation.beta = found->has_beta ? TakeNext(betas, &betas_taken, found->beta) : found->beta;
  }
  return activations;
}

absl::Status ReadDirection(const Attributes& attributes, RecurrentLayer* layer) {
  const std::string direction = attributes.String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return absl::InvalidArgumentError(
        absl::StrCat("direction must be forward, reverse or bidirectional, is ", direction));
  }
  layer->is_reverse = direction == "reverse";
  layer->directions = direction == "bidirectional" ? 2 : 1;
  return absl::OkStatus();
}

// The shapes that the inputs behind the first must have.
absl::Status CheckShapes(const RecurrentKind& kind, const RecurrentLayer& layer,
                         absl::Span<const TensorType> input_types) {
  const int64_t columns = SaturatingMultiply(kind.gates, layer.hidden);
  Shape state = {layer.directions, layer.batch, layer.hidden};
  if (layer.batch_first) std::swap(state[0], state[1]);
  const Shape wanted[] = {{},
                          {layer.directions, columns, layer.input},
                          {layer.directions, columns, layer.hidden},
                          {layer.directions, SaturatingMultiply(2, columns)},
                          {layer.batch},
                          state,
                          state,
                          {layer.directions, SaturatingMultiply(3, layer.hidden)}};
  for (size_t i = 1; i < input_types.size(); ++i) {
    if (!input_types[i].known() || input_types[i].shape == wanted[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have shape ",
                                                   ShapeToString(wanted[i]), ", is ",
                                                   input_types[i].ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

double RecurrentActivation::operator()(double x) const {
  switch (function) {
    case RecurrentFunction::kAffine:
      return alpha * x + beta;
    case RecurrentFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case RecurrentFunction::kHardSigmoid:
      return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case RecurrentFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case RecurrentFunction::kRelu:
      return x < 0 ? 0 : x;
    case RecurrentFunction::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case RecurrentFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case RecurrentFunction::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case RecurrentFunction::kSoftsign:
      return x / (1 + std::abs(x));
    case RecurrentFunction::kTanh:
      return std::tanh(x);
    case RecurrentFunction::kThresholdedRelu:
      return x <= alpha ? 0 : x;
  }
  return 0;
}

absl::StatusOr<RecurrentLayer> ReadRecurrentLayer(const RecurrentKind& kind,
                                                  const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types) {
  const TensorType& x = input_types[kRecurrentX];
  const TensorType& r = input_types[kRecurrentR];
  if (x.rank() != 3 || r.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs ", x.ToString(), " and ", r.ToString(), " must have three axes"));
  }
  RecurrentLayer layer;
  PLAIT_RETURN_IF_ERROR(ReadDirection(attributes, &layer));
  const int64_t layout = attributes.Int("layout", 0);
  if (layout != 0 && layout != 1) {
    return absl::InvalidArgumentError(absl::StrCat("layout must be 0 or 1, is ", layout));
  }
  layer.batch_first = layout == 1;
  layer.steps = x.shape[layer.batch_first ? 1 : 0];
  layer.batch = x.shape[layer.batch_first ? 0 : 1];
  layer.input = x.shape[2];
  layer.hidden = r.shape[2];
  if (attributes.Int("hidden_size", layer.hidden) != layer.hidden) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hidden_size is ", attributes.Int("hidden_size", 0), ", the states have ", layer.hidden));
  }
  PLAIT_RETURN_IF_ERROR(CheckShapes(kind, layer, input_types));
  layer.clip = attributes.Float("clip", 0);
  PLAIT_ASSIGN_OR_RETURN(layer.activations, ReadActivations(kind, attributes, layer.directions));
  return layer;
}

Types InferRecurrent(const RecurrentKind& kind, const OpCall& call) {
  for (size_t i = 0; i < call.input_types.size(); ++i) {
    if (i > kRecurrentR && !call.has_input(i)) continue;
    if (i != kRecurrentLengths) {
      PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
      PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
    } else if (call.input_types[i].dtype != DataType::kInt32) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence_lens must be int32, is ", call.input_types[i].ToString()));
    }
  }
  PLAIT_ASSIGN_OR_RETURN(const RecurrentLayer layer,
                         ReadRecurrentLayer(kind, call.attributes, call.input_types));
  const DataType dtype = call.input_types[0].dtype;
  Shape states = {layer.steps, layer.directions, layer.batch, layer.hidden};
  Shape last = {layer.directions, layer.batch, layer.hidden};
  if (layer.batch_first) {
    states = {layer.batch, layer.steps, layer.directions, layer.hidden};
    last = {layer.batch, layer.directions, layer.hidden};
  }
  PLAIT_ASSIGN_OR_RETURN(const TensorType y, CheckedType(dtype, states));
  PLAIT_ASSIGN_OR_RETURN(const TensorType y_last, CheckedType(dtype, last));
  std::vector<TensorType> types = {y, y_last, y_last};
  types.resize(static_cast<size_t>(call.output_count));
  return types;
}

// Two products for each step; what the cell does with them is little.
Work WorkOfRecurrent(const RecurrentKind& kind, const OpCall& call,
                     absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const int64_t columns = SaturatingMultiply(kind.gates, output_types[0].elements());
  const int64_t depth =
      SaturatingAdd(call.input_types[0].shape[2], call.input_types[kRecurrentR].shape[2]);
  work.flops = SaturatingMultiply(columns, SaturatingMultiply(2, depth));
  return work;
}

absl::Status LowerRecurrent(VersionedNode* node) {
  if (node->opset >= 14) return absl::OkStatus();
  if (node->attributes.Int("layout", 0) != 0) return NeedsOpset("layout 1", 14);
  node->attributes.Erase("layout");
  return absl::OkStatus();
}

}  // namespace plait
