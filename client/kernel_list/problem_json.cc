#include "client/kernel_list/problem_json.h"

#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_join.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

// bench/gpu/kernel_list.cc reads what is written here, without this program's libraries.

namespace plait {
namespace {

using wire::Json;

const char* NameOf(cuda::Activation activation) {
  static constexpr const char* kNames[] = {"none",      "relu", "relu6",   "gelu",
                                           "gelu_tanh", "silu", "sigmoid", "tanh"};
  return kNames[static_cast<int>(activation)];
}

void Add(const cuda::ConvProblem& p, Json* json) {
  json->update({{"n", p.n},
                {"c", p.c},
                {"h", p.h},
                {"w", p.w},
                {"k", p.k},
                {"r", p.r},
                {"s", p.s},
                {"stride", p.stride},
                {"dilation", p.dilation},
                {"pad", p.pad},
                {"groups", p.groups},
                {"bias", p.bias},
                {"residual", p.residual},
                {"prologue_relu", p.prologue_relu},
                {"activation", NameOf(p.activation)}});
}

void Add(const cuda::SeparableConvProblem& p, Json* json) {
  Add(p.depthwise, json);
  (*json)["pointwise_k"] = p.pointwise.k;
  (*json)["pointwise_bias"] = p.pointwise.bias;
  (*json)["pointwise_activation"] = NameOf(p.pointwise.activation);
  (*json)["pointwise_residual"] = p.pointwise.residual;
}

void Add(const cuda::GemmProblem& p, Json* json) {
  json->update({{"batch", p.batch},
                {"m", p.m},
                {"n", p.n},
                {"k", p.k},
                {"weights", p.weights},
                {"transpose_a", p.transpose_a},
                {"transpose_b", p.transpose_b},
                {"bias", p.bias},
                {"residual", p.residual},
                {"activation", NameOf(p.activation)}});
}

void AddStrides(const char* name, const std::optional<cuda::AttentionProblem::Strides>& strides,
                Json* json) {
  if (strides.has_value()) (*json)[name] = *strides;
}

void Add(const cuda::AttentionProblem& p, Json* json) {
  json->update({{"batch", p.batch},
                {"heads", p.heads},
                {"query", p.query},
                {"keys", p.keys},
                {"dim", p.dim},
                {"mask", p.mask},
                {"causal", p.causal}});
  if (p.scale.has_value()) (*json)["scale"] = *p.scale;
  if (p.mask) {
    (*json)["mask_batch"] = p.mask_batch;
    (*json)["mask_heads"] = p.mask_heads;
    (*json)["mask_query"] = p.mask_query;
  }
  AddStrides("query_strides", p.query_strides, json);
  AddStrides("key_strides", p.key_strides, json);
  AddStrides("value_strides", p.value_strides, json);
  AddStrides("result_strides", p.result_strides, json);
}

void Add(const cuda::PoolProblem& p, Json* json) {
  static constexpr const char* kModes[] = {"max", "average", "average_with_padding"};
  json->update({{"mode", kModes[static_cast<int>(p.mode)]},
                {"n", p.n},
                {"c", p.c},
                {"h", p.h},
                {"w", p.w},
                {"r", p.r},
                {"s", p.s},
                {"stride", p.stride},
                {"pad", p.pad},
                {"output_h", p.output_h},
                {"output_w", p.output_w}});
}

void Add(const cuda::RowsProblem& p, Json* json) {
  static constexpr const char* kKinds[] = {"softmax",    "log_softmax",  "layer_norm",
                                           "reduce_sum", "reduce_mean",  "reduce_max",
                                           "rms_norm",   "instance_norm"};
  json->update({{"kind", kKinds[static_cast<int>(p.kind)]},
                {"rows", p.rows},
                {"columns", p.columns},
                {"residual", p.residual}});
  if (p.normalizes()) (*json)["epsilon"] = p.epsilon;
  if (p.inner != 1) (*json)["inner"] = p.inner;
  if (p.channels != 1) (*json)["channels"] = p.channels;
}

void Add(const cuda::ScaleShiftProblem& p, Json* json) {
  json->update(
      {{"n", p.n}, {"c", p.c}, {"spatial", p.spatial}, {"activation", NameOf(p.activation)}});
}

void Add(const cuda::ElementwiseProblem& p, Json* json) {
  json->update({{"expression", p.expression}, {"shape", p.shape}, {"inputs", p.inputs}});
}

void Add(const cuda::MovementProblem& p, Json* json) {
  using Kind = cuda::MovementProblem::Kind;
  static constexpr const char* kKinds[] = {"transpose", "concat", "slice", "gather", "pad", "copy"};
  (*json)["inputs"] = p.inputs;
  if (p.kind == Kind::kTranspose) (*json)["permutation"] = p.permutation;
  if (p.kind == Kind::kConcat || p.kind == Kind::kSlice || p.kind == Kind::kGather) {
    (*json)["axis"] = p.axis;
  }
  if (p.kind == Kind::kSlice || p.kind == Kind::kPad) {
    (*json)["starts"] = p.starts;
    (*json)["sizes"] = p.sizes;
  }
  if (!p.steps.empty()) (*json)["steps"] = p.steps;
  static constexpr const char* kFills[] = {"value", "edge", "reflect", "wrap"};
  if (p.fill != cuda::MovementProblem::Fill::kValue) {
    (*json)["fill"] = kFills[static_cast<int>(p.fill)];
  }
  if (p.value != 0) (*json)["value"] = p.value;
  (*json)["kind"] = kKinds[static_cast<int>(p.kind)];
}

void Add(const cuda::RecurrenceProblem& p, Json* json) {
  json->update({{"columns", p.columns},
                {"inputs", p.inputs},
                {"steps", absl::StrJoin(p.steps, ";")},
                {"outputs", p.outputs}});
}

void Add(const cuda::ResizeProblem& p, Json* json) {
  json->update({{"n", p.n},
                {"c", p.c},
                {"h", p.rows.input},
                {"w", p.columns.input},
                {"row_taps", p.rows.taps},
                {"row_elements", p.rows.elements},
                {"row_weights", p.rows.weights},
                {"column_taps", p.columns.taps},
                {"column_elements", p.columns.elements},
                {"column_weights", p.columns.weights}});
}

void Add(const cuda::RecurrentLayerProblem& p, Json* json) {
  static constexpr const char* kKinds[] = {"rnn", "gru", "lstm"};
  static constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  json->update({{"kind", kKinds[static_cast<int>(p.kind)]},
                {"direction", kDirections[static_cast<int>(p.direction)]},
                {"steps", p.steps},
                {"batch", p.batch},
                {"input", p.input},
                {"hidden", p.hidden},
                {"bias", p.bias},
                {"initial_h", p.initial_h},
                {"initial_c", p.initial_c},
                {"linear_before_reset", p.linear_before_reset},
                {"activation", NameOf(p.activation)},
                {"y", p.y},
                {"y_h", p.y_h},
                {"y_c", p.y_c}});
}

}  // namespace

Json ProblemJson(const cuda::Problem& problem) {
  Json json = {{"problem", cuda::ProblemName(problem)}};
  std::visit([&](const auto& p) { Add(p, &json); }, problem);
  return json;
}

}  // namespace plait
