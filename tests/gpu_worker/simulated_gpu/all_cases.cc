#include "tests/gpu_worker/simulated_gpu/all_cases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/substitute.h"
#include "base/random.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::simulated_gpu {
namespace {

using cuda::Activation;
using cuda::AttentionProblem;
using cuda::ConvProblem;
using cuda::ElementwiseProblem;
using cuda::GeneratedCase;
using cuda::MovementProblem;
using cuda::PoolProblem;
using cuda::RecurrenceProblem;
using cuda::RecurrentLayerProblem;
using cuda::ResizeProblem;
using cuda::RowsProblem;
using cuda::ScaleShiftProblem;
using cuda::SeparableConvProblem;
using Move = MovementProblem::Kind;

Activation AnyActivation(Random& random) {
  return static_cast<Activation>(random.Integer(0, static_cast<int>(Activation::kTanh)));
}

// Few have a divisor that makes whole vectors, some do.
int64_t Channels(Random& random) {
  const int64_t count = random.Integer(2, 37);
  return random.Integer(0, 2) == 0 ? (count + 7) / 8 * 8 : count;
}

ConvProblem AnyDepthwise(Random& random) {
  ConvProblem p;
  p.n = random.Integer(1, 2);
  p.c = p.k = p.groups = Channels(random);
  p.r = random.Integer(1, 4);
  p.s = random.Integer(1, 4);
  p.stride = {random.Integer(1, 3), random.Integer(1, 3)};
  p.dilation = {random.Integer(1, 2), random.Integer(1, 2)};
  for (int64_t& pad : p.pad) pad = random.Integer(0, 2);
  p.h = p.dilation[0] * (p.r - 1) + random.Integer(1, 9);
  p.w = p.dilation[1] * (p.s - 1) + random.Integer(1, 9);
  p.bias = random.Integer(0, 1) != 0;
  p.residual = random.Integer(0, 1) != 0;
  p.prologue_relu = random.Integer(0, 1) != 0;
  p.activation = AnyActivation(random);
  return p;
}

// Behind activations that libraries have no kernels for.
ConvProblem AnyConvolution(Random& random) {
  ConvProblem p = AnyDepthwise(random);
  p.groups = random.Integer(1, 2);
  p.c = p.groups * random.Integer(1, 20);
  p.k = p.groups * random.Integer(1, 70);
  p.activation = static_cast<Activation>(
      random.Integer(static_cast<int>(Activation::kGelu), static_cast<int>(Activation::kTanh)));
  return p;
}

SeparableConvProblem AnySeparable(Random& random) {
  SeparableConvProblem p{.depthwise = AnyDepthwise(random), .pointwise = {}};
  p.depthwise.residual = false;
  ConvProblem& q = p.pointwise;
  q.n = p.depthwise.n;
  q.c = p.depthwise.c;
  q.h = p.depthwise.output_h();
  q.w = p.depthwise.output_w();
  q.k = random.Integer(1, 140);
  q.bias = random.Integer(0, 1) != 0;
  q.residual = random.Integer(0, 1) != 0;
  q.prologue_relu = random.Integer(0, 1) != 0;
  q.activation = AnyActivation(random);
  return p;
}

PoolProblem AnyPool(Random& random) {
  PoolProblem p;
  p.mode = static_cast<PoolProblem::Mode>(random.Integer(0, 2));
  p.n = random.Integer(1, 2);
  p.c = Channels(random);
  p.r = random.Integer(1, 4);
  p.s = random.Integer(1, 4);
  p.stride = {random.Integer(1, 3), random.Integer(1, 3)};
  // Less than the window, so that each has a pixel of the image.
  for (int i = 0; i < 4; ++i) p.pad[i] = random.Integer(0, (i % 2 == 0 ? p.r : p.s) / 2);
  p.h = p.r + random.Integer(0, 9);
  p.w = p.s + random.Integer(0, 9);
  p.output_h = (p.h + p.pad[0] + p.pad[2] - p.r) / p.stride[0] + 1;
  p.output_w = (p.w + p.pad[1] + p.pad[3] - p.s) / p.stride[1] + 1;
  return p;
}

RowsProblem AnyRows(Random& random) {
  RowsProblem p;
  p.kind = static_cast<RowsProblem::Kind>(random.Integer(0, 5));
  p.rows = random.Integer(1, 9);
  p.columns = random.Integer(1, 600);
  if (random.Integer(0, 1) != 0) p.columns = (p.columns + 7) / 8 * 8;
  p.residual = p.kind == RowsProblem::Kind::kLayerNorm && random.Integer(0, 1) != 0;
  return p;
}

ElementwiseProblem AnyElementwise(Random& random) {
  static constexpr const char* kExpressions[] = {
      "relu(add(x0,x1))",          "mul(sub(x0,0.5),x1)",
      "max(x0,min(x1,0.25))",      "add(sigmoid(x0),tanh(x1))",
      "mul(silu(x0),gelu(x1))",    "div(x0,add(exp(x1),1))",
      "add(erf(x0),abs(neg(x1)))", "sqrt(add(mul(x0,x0),mul(x1,x1)))"};
  ElementwiseProblem p;
  p.expression = kExpressions[random.Integer(0, 7)];
  for (int i = 0; i < 3; ++i) p.shape.push_back(random.Integer(1, 19));
  if (random.Integer(0, 1) != 0) p.shape.back() = (p.shape.back() + 7) / 8 * 8;
  std::vector<int64_t> second = p.shape;
  for (int64_t& size : second) {
    if (random.Integer(0, 2) == 0) size = 1;
  }
  p.inputs = {p.shape, second};
  return p;
}

MovementProblem AnyMovement(Random& random) {
  MovementProblem p;
  p.kind = static_cast<Move>(random.Integer(0, 4));
  std::vector<int64_t> shape;
  for (int i = 0; i < 4; ++i) shape.push_back(random.Integer(1, 9));
  shape[random.Integer(0, 3)] += 30;
  p.inputs = {shape};
  p.axis = random.Integer(0, 3);
  if (p.kind == Move::kTranspose) {
    p.permutation = {0, 1, 2, 3};
    for (int i = 3; i > 0; --i) std::swap(p.permutation[i], p.permutation[random.Integer(0, i)]);
  } else if (p.kind == Move::kConcat) {
    for (int i = 0; i < 2; ++i) {
      p.inputs.push_back(shape);
      p.inputs.back()[p.axis] = random.Integer(1, 9);
    }
  } else if (p.kind == Move::kSlice) {
    p.starts = {random.Integer(0, shape[p.axis] - 1)};
    p.sizes = {random.Integer(1, shape[p.axis] - p.starts[0])};
  } else if (p.kind == Move::kGather) {
    p.inputs.push_back({random.Integer(1, 5), random.Integer(1, 5)});
  } else {
    for (int i = 0; i < 4; ++i) {
      p.starts.push_back(random.Integer(0, 2));
      p.sizes.push_back(random.Integer(0, 2));
    }
  }
  return p;
}

ScaleShiftProblem AnyScaleShift(Random& random) {
  return {.n = random.Integer(1, 3),
          .c = Channels(random),
          .spatial = random.Integer(1, 60),
          .activation = AnyActivation(random)};
}

// Each step reads two values of before.
RecurrenceProblem AnyRecurrence(Random& random) {
  static constexpr const char* kSteps[] = {"add(x$0,x$1)", "mul(sigmoid(x$0),x$1)",
                                           "sub(tanh(x$0),mul(x$1,0.5))", "max(x$0,neg(x$1))"};
  RecurrenceProblem p{.columns = random.Integer(1, 300)};
  int64_t values = 0;
  for (int64_t i = random.Integer(1, 3); i > 0; --i) {
    p.inputs.push_back(random.Integer(1, 4));
    values += p.inputs.back();
  }
  for (int64_t i = random.Integer(1, 20); i > 0; --i, ++values) {
    const char* const step = kSteps[random.Integer(0, 3)];
    const int64_t first = random.Integer(0, values - 1);
    p.steps.push_back(absl::Substitute(step, first, random.Integer(0, values - 1)));
  }
  for (int64_t i = random.Integer(1, 3); i > 0; --i) {
    std::vector<int64_t>& rows = p.outputs.emplace_back();
    for (int64_t row = random.Integer(1, 4); row > 0; --row) {
      rows.push_back(random.Integer(0, values - 1));
    }
  }
  return p;
}

RowsProblem AnyOtherRows(Random& random) {
  using Kind = RowsProblem::Kind;
  RowsProblem p{.kind = static_cast<Kind>(random.Integer(0, 7))};
  p.columns = random.Integer(1, 90);
  p.rows = random.Integer(1, 5);
  if (p.kind == Kind::kInstanceNorm) p.channels = random.Integer(1, 4);
  if (!p.normalizes()) p.inner = random.Integer(2, 40);
  p.rows *= p.channels * p.inner;
  p.residual = p.kind == Kind::kRmsNorm && random.Integer(0, 1) != 0;
  return p;
}

ResizeProblem::Axis AnyAxis(Random& random) {
  ResizeProblem::Axis axis{.input = random.Integer(1, 12), .taps = random.Integer(1, 4)};
  for (int64_t i = axis.taps * random.Integer(1, 12); i > 0; --i) {
    axis.elements.push_back(random.Integer(0, axis.input - 1));
    axis.weights.push_back(static_cast<float>(random.Integer(-8, 8)) / 4);
  }
  return axis;
}

ResizeProblem AnyResize(Random& random) {
  ResizeProblem p{.n = random.Integer(1, 2), .c = Channels(random)};
  p.rows = AnyAxis(random);
  p.columns = AnyAxis(random);
  return p;
}

RecurrentLayerProblem AnyRecurrentLayer(Random& random) {
  using Kind = RecurrentLayerProblem::Kind;
  const auto coin = [&random] { return random.Integer(0, 1) != 0; };
  RecurrentLayerProblem p{.kind = static_cast<Kind>(random.Integer(0, 2))};
  p.direction = static_cast<RecurrentLayerProblem::Direction>(random.Integer(0, 2));
  p.steps = random.Integer(1, 3);
  p.batch = random.Integer(1, 10);
  p.input = Channels(random);
  p.hidden = random.Integer(1, 12);
  p.bias = coin(), p.initial_h = coin(), p.y_h = coin();
  p.y = !p.y_h || coin();
  if (p.kind == Kind::kRnn && coin()) p.activation = Activation::kRelu;
  if (p.kind == Kind::kGru) p.linear_before_reset = coin();
  if (p.kind == Kind::kLstm) p.initial_c = coin(), p.y_c = coin();
  return p;
}

AttentionProblem AnyAttention(Random& random) {
  const auto coin = [&random] { return random.Integer(0, 1) != 0; };
  AttentionProblem p{.batch = random.Integer(1, 2), .heads = random.Integer(1, 3)};
  p.query = random.Integer(1, 40);
  p.keys = random.Integer(1, 70);
  p.dim = random.Integer(1, 40);
  p.mask = coin(), p.causal = coin();
  p.mask_batch = coin(), p.mask_heads = coin(), p.mask_query = coin();
  return p;
}

}  // namespace

std::vector<GeneratedCase> OddCases() {
  Random random(20);
  std::vector<GeneratedCase> cases;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "odd" + std::to_string(i);
    cases.push_back({name, AnyDepthwise(random)});
    if (i % 2 == 0) cases.push_back({name, AnySeparable(random)});
    cases.push_back({name, AnyPool(random)});
    cases.push_back({name, AnyRows(random)});
    cases.push_back({name, AnyElementwise(random)});
    cases.push_back({name, AnyMovement(random)});
    cases.push_back({name, AnyScaleShift(random)});
  }
  // Behind the others, whose numbers stay as they were.
  for (int i = 0; i < 10; ++i) {
    const std::string name = "odd" + std::to_string(i);
    cases.push_back({name, AnyRecurrence(random)});
    cases.push_back({name, AnyResize(random)});
    cases.push_back({name, AnyOtherRows(random)});
  }
  for (int i = 0; i < 10; ++i) {
    cases.push_back({"odd" + std::to_string(i), AnyRecurrentLayer(random)});
  }
  for (int i = 0; i < 3; ++i) {
    cases.push_back({"odd" + std::to_string(i), AnyConvolution(random)});
  }
  cases.push_back({"odd0", AnyAttention(random)});
  // BERT's mask: one row of keys for all queries and heads of a sequence.
  cases.push_back({"mask_of_keys", AttentionProblem{.batch = 2,
                                                    .heads = 2,
                                                    .query = 9,
                                                    .keys = 37,
                                                    .dim = 12,
                                                    .mask = true,
                                                    .mask_query = false}});
  // A few have an output without pixels.
  std::erase_if(cases, [](const GeneratedCase& c) { return !cuda::ShapeOf(c.problem).ok(); });
  return cases;
}

std::vector<GeneratedCase> AllCases() {
  std::vector<GeneratedCase> cases = cuda::GeneratedCases();
  for (GeneratedCase& c : OddCases()) cases.push_back(std::move(c));
  return cases;
}

std::vector<GeneratedCase> MutatedCases() {
  std::vector<GeneratedCase> cases = cuda::GeneratedCases();
  // Most of its one round of channels is zeros.
  std::erase_if(cases, [](const GeneratedCase& c) { return c.name == "separable"; });
  const auto add = [&cases](cuda::Problem problem) { cases.push_back({"large", problem}); };
  SeparableConvProblem pair{.depthwise = {.n = 2, .c = 70, .h = 9, .w = 8, .k = 70, .r = 3, .s = 3},
                            .pointwise = {.n = 2, .c = 70, .h = 9, .w = 9, .k = 131}};
  pair.depthwise.groups = 70;
  pair.depthwise.pad = {1, 2, 1, 1};
  pair.depthwise.bias = true;
  add(pair);
  ConvProblem dense{.n = 2, .c = 14, .h = 9, .w = 8, .k = 150, .r = 3, .s = 2};
  dense.pad = {1, 1, 1, 0};
  dense.groups = 2;
  dense.activation = Activation::kSilu;
  add(dense);
  add(MovementProblem{.kind = Move::kGather, .inputs = {{3, 9, 50}, {31}}, .axis = 1});
  add(MovementProblem{.kind = Move::kGather, .inputs = {{3, 9, 5}, {131}}, .axis = 1});
  add(ElementwiseProblem{"relu(add(x0,mul(x1,0.5)))", {3, 7, 130}, {{3, 7, 130}, {7, 1}}});
  add(ElementwiseProblem{"gelu(sub(x0,x1))", {5, 431}, {{5, 431}, {431}}});
  using Rows = RowsProblem::Kind;
  for (const Rows kind : {Rows::kSoftmax, Rows::kReduceMean, Rows::kReduceMax}) {
    add(RowsProblem{.kind = kind, .rows = 1100, .columns = 5, .inner = 550});
  }
  add(ScaleShiftProblem{.n = 3, .c = 24, .spatial = 51, .activation = Activation::kRelu});
  return cases;
}

}  // namespace plait::simulated_gpu
