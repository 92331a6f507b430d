#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plait::cuda {
namespace {

using Move = MovementProblem::Kind;
using Pool = PoolProblem::Mode;
using Rows = RowsProblem::Kind;
using Type = ElementType;

void AddRows(std::vector<GeneratedCase>* cases) {
  cases->push_back({"softmax", RowsProblem{.kind = Rows::kSoftmax, .rows = 7, .columns = 37}});
  cases->push_back(
      {"softmax_wide", RowsProblem{.kind = Rows::kSoftmax, .rows = 3, .columns = 1000}});
  cases->push_back(
      {"log_softmax", RowsProblem{.kind = Rows::kLogSoftmax, .rows = 5, .columns = 64}});
  cases->push_back(
      {"layer_norm", RowsProblem{.kind = Rows::kLayerNorm, .rows = 6, .columns = 768}});
  cases->push_back(
      {"layer_norm_residual",
       RowsProblem{.kind = Rows::kLayerNorm, .rows = 3, .columns = 129, .residual = true}});
  // So large that a kernel which has another one is far off.
  cases->push_back(
      {"layer_norm_epsilon",
       RowsProblem{.kind = Rows::kLayerNorm, .rows = 4, .columns = 96, .epsilon = 0.375F}});
  for (Rows kind : {Rows::kReduceSum, Rows::kReduceMean, Rows::kReduceMax}) {
    cases->push_back({"reduce", RowsProblem{.kind = kind, .rows = 5, .columns = 49}});
    cases->push_back({"reduce_wide", RowsProblem{.kind = kind, .rows = 2, .columns = 3136}});
  }
  cases->push_back({"rms_norm", RowsProblem{.kind = Rows::kRmsNorm, .rows = 5, .columns = 512}});
  cases->push_back(
      {"rms_norm_residual",
       RowsProblem{
           .kind = Rows::kRmsNorm, .rows = 3, .columns = 77, .residual = true, .epsilon = 0.375F}});
  cases->push_back(
      {"instance_norm",
       RowsProblem{.kind = Rows::kInstanceNorm, .rows = 6, .columns = 195, .channels = 3}});
}

void AddStridedRows(std::vector<GeneratedCase>* cases) {
  for (Rows kind :
       {Rows::kSoftmax, Rows::kLogSoftmax, Rows::kReduceSum, Rows::kReduceMean, Rows::kReduceMax}) {
    cases->push_back({"strided", RowsProblem{.kind = kind, .rows = 21, .columns = 16, .inner = 7}});
    cases->push_back(
        {"strided_wide", RowsProblem{.kind = kind, .rows = 48, .columns = 5, .inner = 24}});
  }
}

void AddElementwise(std::vector<GeneratedCase>* cases) {
  cases->push_back(
      {"chain", ElementwiseProblem{
                    "relu(add(x0,mul(x1,0.5)))", {2, 6, 5, 3}, {{2, 6, 5, 3}, {1, 6, 1, 1}}}});
  cases->push_back(
      {"even", ElementwiseProblem{"gelu(sub(x0,x1))", {1, 8, 4, 4}, {{1, 8, 4, 4}, {1, 8, 4, 4}}}});
  cases->push_back(
      {"row", ElementwiseProblem{"gelu_tanh(add(x0,x1))", {3, 5, 16}, {{3, 5, 16}, {16}}}});
  cases->push_back(
      {"positive",
       ElementwiseProblem{"div(log(x0),add(sqrt(x1),rsqrt(pow(x0,2))))", {11}, {{11}, {11}}}});
  cases->push_back(
      {"many", ElementwiseProblem{
                   "max(min(tanh(x0),sigmoid(x0)),silu(neg(abs(clip(erf(exp(x0)),-1,0.75)))))",
                   {4, 9},
                   {{4, 9}}}});
  cases->push_back({"scalar", ElementwiseProblem{"mul(x0,x1)", {2, 3, 8}, {{2, 3, 8}, {}}}});
}

// Masks: what is no float, in odd shapes and in ones that make vectors.
void AddMasks(std::vector<GeneratedCase>* cases) {
  const auto add = [&](const char* name, const char* expression, std::vector<int64_t> shape,
                       std::vector<std::vector<int64_t>> inputs, std::vector<Type> types,
                       Type result) {
    cases->push_back({name, ElementwiseProblem{expression, std::move(shape), std::move(inputs),
                                               std::move(types), result}});
  };
  add("mask", "where(and(x0,bool(x1)),x2,-100)", {2, 3, 5, 7}, {{3, 1, 7}, {2, 1, 5, 1}, {5, 7}},
      {Type::kBool, Type::kInt64, Type::kFloat}, Type::kFloat);
  add("mask_even", "not(or(equal(x0,x1),xor(x2,greater(x3,0.5))))", {2, 8, 4, 16},
      {{2, 8, 4, 16}, {16}, {8, 1, 1}, {2, 8, 4, 16}},
      {Type::kInt64, Type::kInt64, Type::kBool, Type::kFloat}, Type::kBool);
  add("order", "and(less(x0,x1),greater_or_equal(x1,int32(x2)))", {33}, {{33}, {33}, {1}},
      {Type::kInt32, Type::kInt32, Type::kFloat}, Type::kBool);
  add("order_of_floats", "less_or_equal(x0,x1)", {6, 32}, {{6, 32}, {6, 1}}, {}, Type::kBool);
  add("positions", "max(mul(sub(x0,x1),x2),min(add(x0,int64(x3)),x1))", {4, 12},
      {{4, 12}, {12}, {4, 1}, {}}, {Type::kInt64, Type::kInt64, Type::kInt64, Type::kInt32},
      Type::kInt64);
  add("casts", "add(float(x0),float(int32(mul(x1,3))))", {5, 8}, {{5, 8}, {5, 8}},
      {Type::kInt64, Type::kFloat}, Type::kFloat);
  add("narrow", "add(int32(x0),int32(x1))", {2, 5}, {{2, 5}, {5}}, {Type::kInt64, Type::kBool},
      Type::kInt32);
  add("chosen_by_floats", "mul(where(greater(x0,x1),x0,1),float(less(x1,0.25)))", {6, 12},
      {{6, 12}, {12}}, {}, Type::kFloat);
  add("expand_bool", "x0", {3, 4, 32}, {{4, 1}}, {Type::kBool}, Type::kBool);
  add("expand_bool_rows", "x0", {3, 4, 32}, {{32}}, {Type::kBool}, Type::kBool);
  add("expand_int64", "x0", {2, 3, 5}, {{3, 1}}, {Type::kInt64}, Type::kInt64);
}

void AddMovesOf(Type type, std::vector<GeneratedCase>* cases) {
  const auto add = [&](const char* name, MovementProblem problem) {
    problem.type = type;
    cases->push_back({name, std::move(problem)});
  };
  add("transpose_others",
      {.kind = Move::kTranspose, .inputs = {{3, 37, 41}}, .permutation = {0, 2, 1}});
  add("transpose_rows_of_others",
      {.kind = Move::kTranspose, .inputs = {{2, 5, 3, 16}}, .permutation = {0, 2, 1, 3}});
  add("concat_others", {.kind = Move::kConcat, .inputs = {{2, 8, 3, 5}, {2, 1, 3, 5}}, .axis = 1});
  add("slice_others",
      {.kind = Move::kSlice, .inputs = {{5, 16}}, .axis = 1, .starts = {8, 3}, .sizes = {8, 5}});
  add("copy_others", {.kind = Move::kCopy, .inputs = {{3, 7}, {32}}});
  add("pad_others", {.kind = Move::kPad,
                     .inputs = {{1, 4, 5, 6}},
                     .starts = {0, 0, 1, 2},
                     .sizes = {0, 4, 3, 0}});
  add("pad_value_of_others",
      {.kind = Move::kPad, .inputs = {{3, 5}}, .starts = {1, 0}, .sizes = {0, 2}, .value = 1});
  add("gather_others", {.kind = Move::kGather, .inputs = {{19, 48}, {2, 7}}, .axis = 0});
  add("gather_single_others", {.kind = Move::kGather, .inputs = {{9, 1}, {1, 5}}, .axis = 0});
}

// What padding writes, along all axes, and tiles of whole vectors and of single elements.
void AddFills(std::vector<GeneratedCase>* cases) {
  using Fill = MovementProblem::Fill;
  for (const auto& [name, fill] : {std::pair("pad_value", Fill::kValue),
                                   {"pad_edge", Fill::kEdge},
                                   {"pad_reflect", Fill::kReflect},
                                   {"pad_wrap", Fill::kWrap}}) {
    cases->push_back({name, MovementProblem{.kind = Move::kPad,
                                            .inputs = {{1, 3, 5, 6}},
                                            .starts = {0, 1, 3, 2},
                                            .sizes = {0, 2, 4, 5},
                                            .fill = fill,
                                            .value = fill == Fill::kValue ? -1.5 : 0}});
  }
  for (const int64_t columns : {8, 3}) {
    cases->push_back({"tile", MovementProblem{.kind = Move::kPad,
                                              .inputs = {{2, 1, columns}},
                                              .starts = {0, 0, 0},
                                              .sizes = {4, 2, 2 * columns},
                                              .fill = Fill::kWrap}});
  }
}

void AddMovement(std::vector<GeneratedCase>* cases) {
  const auto transpose = [&](std::vector<int64_t> shape, std::vector<int64_t> permutation) {
    cases->push_back(
        {"transpose",
         MovementProblem{.kind = Move::kTranspose, .inputs = {shape}, .permutation = permutation}});
  };
  transpose({3, 37, 41}, {0, 2, 1});
  transpose({2, 5, 3, 8}, {0, 2, 1, 3});
  transpose({2, 7, 5, 9}, {0, 2, 3, 1});
  transpose({5, 1, 6, 4}, {3, 2, 1, 0});
  transpose({4, 3, 35}, {2, 0, 1});
  transpose({3, 4}, {0, 1});
  for (const auto& [from, to] :
       {std::pair(Type::kFloat32, Type::kFloat), {Type::kFloat, Type::kFloat32}}) {
    const auto cast = [&, from = from, to = to](std::vector<int64_t> shape,
                                                std::vector<int64_t> permutation) {
      cases->push_back({"cast", MovementProblem{.kind = Move::kTranspose,
                                                .inputs = {shape},
                                                .permutation = permutation,
                                                .type = from,
                                                .cast_to = to}});
    };
    cast({1, 37, 40}, {0, 2, 1});
    cast({240}, {0});
    cast({7, 11}, {0, 1});
  }
  cases->push_back({"concat", MovementProblem{.kind = Move::kConcat,
                                              .inputs = {{2, 8, 3, 5}, {2, 4, 3, 5}, {2, 1, 3, 5}},
                                              .axis = 1}});
  cases->push_back(
      {"concat_last",
       MovementProblem{.kind = Move::kConcat, .inputs = {{6, 8}, {6, 16}}, .axis = 1}});
  cases->push_back({"split", MovementProblem{.kind = Move::kSlice,
                                             .inputs = {{2, 12, 4, 3}},
                                             .axis = 1,
                                             .starts = {0, 4, 7},
                                             .sizes = {4, 3, 5}}});
  cases->push_back(
      {"slice_last",
       MovementProblem{
           .kind = Move::kSlice, .inputs = {{5, 16}}, .axis = 1, .starts = {8}, .sizes = {8}}});
  cases->push_back({"copy", MovementProblem{.kind = Move::kCopy, .inputs = {{3, 7}, {16}}}});
  cases->push_back({"pad", MovementProblem{.kind = Move::kPad,
                                           .inputs = {{1, 4, 5, 6}},
                                           .starts = {0, 0, 1, 2},
                                           .sizes = {0, 4, 3, 0}}});
  AddFills(cases);
  for (const Type type : {Type::kBool, Type::kInt16, Type::kInt32, Type::kInt64}) {
    AddMovesOf(type, cases);
  }
  cases->push_back({"crop", MovementProblem{.kind = Move::kPad,
                                            .inputs = {{2, 3, 9, 8}},
                                            .starts = {0, 0, -1, -4},
                                            .sizes = {0, 0, -2, 0}}});
  cases->push_back({"crop_in_steps", MovementProblem{.kind = Move::kPad,
                                                     .inputs = {{2, 8, 9, 8}},
                                                     .starts = {0, 0, -1, -1},
                                                     .sizes = {0, 0, -2, 0},
                                                     .steps = {1, 1, 2, 3}}});
  cases->push_back({"channels_in_steps", MovementProblem{.kind = Move::kPad,
                                                         .inputs = {{1, 16, 3, 8}},
                                                         .starts = {0, 1, 0, 2},
                                                         .sizes = {0, 0, 0, 1},
                                                         .steps = {1, 4, 1, 1}}});
  cases->push_back({"crop_and_pad", MovementProblem{.kind = Move::kPad,
                                                    .inputs = {{1, 4, 5, 7}},
                                                    .starts = {0, 0, -1, 2},
                                                    .sizes = {0, 0, 2, -3}}});
  cases->push_back(
      {"gather", MovementProblem{.kind = Move::kGather, .inputs = {{19, 24}, {2, 7}}, .axis = 0}});
  cases->push_back({"gather_inner",
                    MovementProblem{.kind = Move::kGather, .inputs = {{3, 9, 5}, {4}}, .axis = 1}});
}

void AddPools(std::vector<GeneratedCase>* cases) {
  for (Pool mode : {Pool::kMax, Pool::kAverage, Pool::kAverageWithPadding}) {
    cases->push_back({"pool", PoolProblem{.mode = mode,
                                          .n = 2,
                                          .c = 6,
                                          .h = 9,
                                          .w = 7,
                                          .r = 3,
                                          .s = 3,
                                          .stride = {2, 2},
                                          .pad = {1, 1, 1, 1},
                                          .output_h = 5,
                                          .output_w = 4}});
    cases->push_back({"pool_ceil", PoolProblem{.mode = mode,
                                               .n = 1,
                                               .c = 8,
                                               .h = 8,
                                               .w = 8,
                                               .r = 3,
                                               .s = 2,
                                               .stride = {2, 2},
                                               .pad = {0, 0, 0, 0},
                                               .output_h = 4,
                                               .output_w = 4}});
    cases->push_back({"global", PoolProblem{.mode = mode,
                                            .n = 2,
                                            .c = 40,
                                            .h = 7,
                                            .w = 7,
                                            .r = 7,
                                            .s = 7,
                                            .output_h = 1,
                                            .output_w = 1}});
  }
}

ConvProblem Depthwise(int64_t c, int64_t h, int64_t w, int64_t window, int64_t stride) {
  ConvProblem p{.n = 2, .c = c, .h = h, .w = w, .k = c, .r = window, .s = window};
  p.stride = {stride, stride};
  p.pad = {window / 2, window / 2, window / 2, window / 2};
  p.groups = c;
  return p;
}

void AddConvolutions(std::vector<GeneratedCase>* cases) {
  ConvProblem plain = Depthwise(6, 9, 7, 3, 1);
  cases->push_back({"depthwise", plain});
  ConvProblem strided = Depthwise(16, 11, 10, 5, 2);
  strided.bias = strided.residual = strided.prologue_relu = true;
  strided.activation = Activation::kRelu6;
  cases->push_back({"depthwise_fused", strided});
  ConvProblem dilated = Depthwise(8, 9, 9, 3, 1);
  dilated.dilation = {2, 1};
  dilated.activation = Activation::kSilu;
  cases->push_back({"depthwise_dilated", dilated});

  ConvProblem dense{.n = 2, .c = 6, .h = 7, .w = 5, .k = 9, .r = 3, .s = 3};
  dense.pad = {1, 1, 1, 1};
  dense.activation = Activation::kSilu;
  cases->push_back({"convolution", dense});
  ConvProblem fused_dense{.n = 1, .c = 12, .h = 11, .w = 10, .k = 80, .r = 5, .s = 3};
  fused_dense.pad = {2, 0, 1, 2};
  fused_dense.stride = {2, 1};
  fused_dense.dilation = {1, 2};
  fused_dense.groups = 2;
  fused_dense.bias = fused_dense.residual = fused_dense.prologue_relu = true;
  fused_dense.activation = Activation::kGeluTanh;
  cases->push_back({"convolution_fused", fused_dense});
  ConvProblem row{.n = 3, .c = 16, .w = 21, .k = 70, .s = 4};
  row.pad = {0, 3, 0, 0};
  row.activation = Activation::kTanh;
  cases->push_back({"convolution_row", row});

  SeparableConvProblem small{.depthwise = Depthwise(5, 7, 6, 3, 1), .pointwise = {}};
  small.pointwise = {.n = 2, .c = 5, .h = 7, .w = 6, .k = 9};
  cases->push_back({"separable", small});
  SeparableConvProblem fused{.depthwise = Depthwise(40, 9, 9, 5, 2), .pointwise = {}};
  fused.depthwise.prologue_relu = fused.depthwise.bias = true;
  fused.depthwise.activation = Activation::kRelu;
  fused.pointwise = {.n = 2, .c = 40, .h = 5, .w = 5, .k = 70};
  fused.pointwise.bias = fused.pointwise.residual = true;
  fused.pointwise.activation = Activation::kSigmoid;
  cases->push_back({"separable_fused", fused});

  cases->push_back({"scale_shift", ScaleShiftProblem{.n = 2, .c = 6, .spatial = 35}});
  cases->push_back(
      {"scale_shift_relu",
       ScaleShiftProblem{.n = 2, .c = 16, .spatial = 12, .activation = Activation::kRelu}});
}

// Twice as many rows, by linear taps, and two thirds of the columns, by the nearest.
void AddResizes(std::vector<GeneratedCase>* cases) {
  for (const int64_t channels : {6, 16}) {
    ResizeProblem resize{.n = 2, .c = channels, .rows = {5, 2, {}, {}}, .columns = {9, 1, {}, {}}};
    for (int64_t row = 0; row < 10; ++row) {
      const int64_t first = std::max<int64_t>(0, (row - 1) / 2);
      resize.rows.elements.insert(resize.rows.elements.end(),
                                  {first, std::min<int64_t>(4, first + 1)});
      resize.rows.weights.insert(resize.rows.weights.end(), {0.75F, 0.25F});
    }
    for (const int64_t column : {0, 2, 3, 5, 6, 8}) {
      resize.columns.elements.push_back(column);
      resize.columns.weights.push_back(1);
    }
    cases->push_back({"resize_" + std::to_string(channels), resize});
  }
}

void AddRecurrences(std::vector<GeneratedCase>* cases) {
  // Rows that are read by steps, handed on as they are, and not at all.
  const RecurrenceProblem rows{.columns = 37,
                               .inputs = {3, 1, 2},
                               .steps = {"mul(x0,x3)", "add(x6,mul(x1,x4))"},
                               .outputs = {{6, 7}, {2}, {7, 0}}};
  cases->push_back({"recurrence", rows});
  RecurrenceProblem layer{.columns = 160, .inputs = {5, 5}, .outputs = {{}}};
  int64_t state = 5;
  for (int64_t step = 1; step < 5; ++step) {
    const std::string gate = "sigmoid(x" + std::to_string(step) + ")";
    layer.steps.push_back("add(mul(" + gate + ",x" + std::to_string(state) + "),x" +
                          std::to_string(5 + step) + ")");
    state = 9 + step;
    layer.outputs[0].push_back(state);
  }
  layer.steps.push_back("tanh(x13)");
  layer.outputs.push_back({14});
  cases->push_back({"recurrence_layer", layer});
}

// Tiles that are cut off at queries and keys, and dims that fill neither vectors nor lanes.
void AddAttentions(std::vector<GeneratedCase>* cases) {
  AttentionProblem causal{.batch = 1, .heads = 2, .query = 35, .keys = 35, .dim = 36};
  causal.causal = true;
  cases->push_back({"attention_causal", causal});
  AttentionProblem of_rows{.batch = 2, .heads = 2, .query = 18, .keys = 69, .dim = 6};
  of_rows.mask = of_rows.mask_heads = true;
  of_rows.scale = 0.25F;
  // [batch, rows, heads, dim], as a product writes them; the values' heads lie transposed.
  of_rows.query_strides = of_rows.result_strides = {{18 * 12, 6, 12, 1}};
  of_rows.key_strides = {{69 * 12, 6, 12, 1}};
  of_rows.value_strides = {{69 * 12, 6 * 69, 1, 69}};
  cases->push_back({"attention_of_rows", of_rows});
}

}  // namespace

std::vector<FamilyForm> FamilyForms() {
  std::vector<FamilyForm> forms;
  for (const GeneratedFamily* family : GeneratedFamilies()) {
    for (const Precision precision :
         {Precision::kStrict, Precision::kTf32, Precision::kFp16, Precision::kBf16}) {
      if (precision == Precision::kTf32 && !family->rounds_to_tf32) continue;
      forms.emplace_back(family, precision);
    }
  }
  return forms;
}

// Every kind and direction, with initial states and without, of sizes that make whole vectors and
// such that do not, and of a batch that is no multiple of a tile.
void AddRecurrentLayers(std::vector<GeneratedCase>* cases) {
  using Layer = RecurrentLayerProblem;
  const auto add = [cases](const std::string& name, Layer layer) {
    const bool is_lstm = layer.kind == Layer::Kind::kLstm;
    layer.y_c = is_lstm && layer.y_h;
    layer.initial_c = is_lstm && layer.initial_h;
    cases->push_back({name, layer});
  };
  using Direction = Layer::Direction;
  const Direction directions[] = {Direction::kForward, Direction::kReverse,
                                  Direction::kBidirectional};
  for (const int kind : {0, 1, 2}) {
    const std::string name = std::array{"rnn", "gru", "lstm"}[kind];
    Layer layer{.kind = static_cast<Layer::Kind>(kind)};
    layer.steps = 4, layer.batch = 3, layer.input = 3, layer.hidden = 5;
    layer.bias = true, layer.initial_h = true, layer.y_h = true;
    for (const Direction direction : directions) {
      layer.direction = direction;
      add(name + "_odd", layer);
    }
    layer.steps = 1;
    layer.bias = false, layer.initial_h = false;
    add(name + "_step", layer);
    layer.steps = 2, layer.batch = 9, layer.input = 272, layer.hidden = 8;
    layer.direction = directions[kind];
    layer.bias = true, layer.y = kind != 1, layer.y_h = kind != 0;
    add(name + "_wide", layer);
  }
  for (const int64_t batch : {1, 2}) {
    Layer layer{.kind = Layer::Kind::kGru, .steps = 4, .batch = batch, .input = 6, .hidden = 10};
    layer.bias = true, layer.initial_h = batch == 1, layer.linear_before_reset = true;
    add("gru_linear_before_reset", layer);
  }
  add("rnn_relu", {.kind = Layer::Kind::kRnn,
                   .steps = 3,
                   .batch = 2,
                   .input = 4,
                   .hidden = 8,
                   .activation = Activation::kRelu});
  add("lstm_states", {.steps = 3, .batch = 1, .input = 4, .hidden = 136});
  // A cell alone that is given and asked for.
  cases->push_back({"lstm_cell", Layer{.steps = 2,
                                       .batch = 2,
                                       .input = 4,
                                       .hidden = 8,
                                       .initial_c = true,
                                       .y = false,
                                       .y_c = true}});
}

std::vector<GeneratedCase> GeneratedCases() {
  std::vector<GeneratedCase> cases;
  AddRows(&cases);
  AddStridedRows(&cases);
  AddElementwise(&cases);
  AddMasks(&cases);
  AddMovement(&cases);
  AddPools(&cases);
  AddConvolutions(&cases);
  AddRecurrences(&cases);
  AddResizes(&cases);
  AddRecurrentLayers(&cases);
  AddAttentions(&cases);
  return cases;
}

const std::vector<float>& FloatsOf(const KernelArgument& argument, const HostOperands& operands) {
  switch (argument.kind) {
    case KernelArgument::Kind::kWeights:
      return operands.weights;
    case KernelArgument::Kind::kPackedWeights:
      return operands.packed_weights;
    case KernelArgument::Kind::kSecondWeights:
      return operands.second_weights;
    case KernelArgument::Kind::kBias:
      return operands.bias;
    case KernelArgument::Kind::kSecondBias:
      return operands.second_bias;
    case KernelArgument::Kind::kResidual:
      return operands.residual;
    default:
      return operands.inputs[argument.index];
  }
}

}  // namespace plait::cuda
