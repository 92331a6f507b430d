#include "gpu_worker/backends/cuda/problem/problem_shape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/shape_checks.h"

// What is checked, and what follows, by an example. ConvProblem{.n = 1, .c = 64, .h = 56, .w = 56,
// .k = 128, .r = 3, .s = 3, .stride = {2, 2}, .pad = {1, 1, 1, 1}, .bias = true} has
//   output_h = (56 + 1 + 1 - (3 - 1) - 1) / 2 + 1 = 28, and so output_w
//   inputs   = {1 * 64 * 56 * 56}   = {200704}
//   weights  = 128 * (64 / 1) * 9   = 73728
//   outputs  = {1 * 128 * 28 * 28}  = {100352}
//   flops    = 2 * 100352 * 64 * 9  = 115605504
// and BytesOf() in fp16 is 2 * (200704 + 73728 + 128 + 100352) = 749824.
//
// Sizes come from files, and an overflow would pass as a small number: each factor is bounded by
// 2^31 before it is multiplied, and each product after it, so that 64 bits always hold it.

namespace plait::cuda {
namespace {

Result<ProblemShape> Shape(const ConvProblem& p) {
  if (!ProductFits({p.n, p.c, p.h, p.w}) || !ProductFits({p.k, p.c, p.r, p.s}) ||
      !Positive({p.groups, p.stride[0], p.stride[1], p.dilation[0], p.dilation[1]})) {
    return Invalid("conv: sizes must be positive and below 2^31 elements");
  }
  if (p.c % p.groups != 0 || p.k % p.groups != 0) return Invalid("conv: groups do not divide");
  for (int64_t pad : p.pad) {
    if (pad < 0 || pad > 1 << 20) return Invalid("conv: padding out of range");
  }
  if (p.h + p.pad[0] + p.pad[2] < p.dilation[0] * (p.r - 1) + 1 ||
      p.w + p.pad[1] + p.pad[3] < p.dilation[1] * (p.s - 1) + 1) {
    return Invalid("conv: the window is larger than the image");
  }
  if (!ProductFits({p.n, p.k, p.output_h(), p.output_w()})) return Invalid("conv: output too big");
  ProblemShape shape;
  shape.inputs = {p.n * p.c * p.h * p.w};
  shape.weights = p.k * (p.c / p.groups) * p.r * p.s;
  const int64_t outputs = p.n * p.k * p.output_h() * p.output_w();
  shape.bias = p.bias ? p.k : 0;
  shape.residual = p.residual ? outputs : 0;
  shape.outputs = {outputs};
  shape.flops = 2 * outputs * (p.c / p.groups) * p.r * p.s;
  return shape;
}

// The halves are checked as convolutions of their own first, and only then against each other.
Result<ProblemShape> Shape(const SeparableConvProblem& p) {
  Result<ProblemShape> first = Shape(p.depthwise);
  if (!first.ok()) return first;
  Result<ProblemShape> second = Shape(p.pointwise);
  if (!second.ok()) return second;
  const ConvProblem& d = p.depthwise;
  const ConvProblem& q = p.pointwise;
  if (d.groups != d.c || d.k != d.c || d.residual) return Invalid("separable_conv: not depthwise");
  if (q.r != 1 || q.s != 1 || q.groups != 1 || q.c != d.k || q.n != d.n || q.stride[0] != 1 ||
      q.stride[1] != 1 || q.h != d.output_h() || q.w != d.output_w() || q.pad[0] != 0 ||
      q.pad[1] != 0 || q.pad[2] != 0 || q.pad[3] != 0) {
    return Invalid("separable_conv: the second half is not a 1x1 convolution of the first");
  }
  ProblemShape shape = std::move(first).value();
  shape.second_weights = second.value().weights;
  shape.second_bias = second.value().bias;
  shape.residual = second.value().residual;
  shape.outputs = second.value().outputs;
  shape.flops += second.value().flops;
  return shape;
}

Result<ProblemShape> Shape(const GemmProblem& p) {
  if (!ProductFits({p.batch, p.m, p.k}) || !ProductFits({p.batch, p.k, p.n}) ||
      !ProductFits({p.batch, p.m, p.n})) {
    return Invalid("gemm: sizes must be positive and below 2^31 elements");
  }
  ProblemShape shape;
  shape.inputs = {p.batch * p.m * p.k};
  if (p.weights) {
    shape.weights = p.k * p.n;
  } else {
    shape.inputs.push_back(p.batch * p.k * p.n);
  }
  shape.bias = p.bias ? p.n : 0;
  shape.outputs = {p.batch * p.m * p.n};
  shape.residual = p.residual ? shape.outputs[0] : 0;
  shape.flops = 2 * shape.outputs[0] * p.k;
  return shape;
}

// From the first to the last element; 0 where the strides make no sense or too much of it.
int64_t HeadsSpan(const AttentionProblem& p, const std::optional<AttentionProblem::Strides>& given,
                  int64_t rows) {
  const AttentionProblem::Strides strides = HeadStrides(p, given, rows);
  const int64_t sizes[] = {p.batch, p.heads, rows, p.dim};
  int64_t span = 1;
  for (int d = 0; d < 4; ++d) {
    if (strides[d] < 0 || strides[d] > kElementsMax) return 0;
    span += (sizes[d] - 1) * strides[d];
    if (span > kElementsMax) return 0;
  }
  return span;
}

// Whether every element has a place of its own and none is left over.
bool IsDense(const std::array<int64_t, 4>& sizes, const AttentionProblem::Strides& strides) {
  std::array<int, 4> order = {0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(strides[a], sizes[a]) < std::pair(strides[b], sizes[b]);
  });
  int64_t inner = 1;
  for (const int d : order) {
    if (sizes[d] == 1) continue;
    if (strides[d] != inner) return false;
    inner *= sizes[d];
  }
  return true;
}

Result<ProblemShape> Shape(const AttentionProblem& p) {
  const std::vector<int64_t> mask = MaskShape(p);
  if (!ProductFits({p.batch, p.heads, p.query, p.dim}) ||
      !ProductFits({p.batch, p.heads, p.keys, p.dim}) ||
      !ProductFits({mask[0], mask[1], mask[2], mask[3]})) {
    return Invalid("attention: sizes must be positive and below 2^31 elements");
  }
  if (!std::isfinite(p.factor())) return Invalid("attention: the scale is no number");
  const int64_t heads = p.batch * p.heads;
  ProblemShape shape;
  shape.inputs = {HeadsSpan(p, p.query_strides, p.query), HeadsSpan(p, p.key_strides, p.keys),
                  HeadsSpan(p, p.value_strides, p.keys)};
  for (const int64_t span : shape.inputs) {
    if (span == 0) return Invalid("attention: strides out of range");
  }
  if (p.mask) shape.inputs.push_back(ElementCount(mask));
  shape.outputs = {heads * p.query * p.dim};
  if (!IsDense({p.batch, p.heads, p.query, p.dim}, HeadStrides(p, p.result_strides, p.query))) {
    return Invalid("attention: the result has gaps");
  }
  // Two products, q k^T and weights v; the softmax between them is not counted.
  shape.flops = 4 * heads * p.query * p.keys * p.dim;
  return shape;
}

Result<ProblemShape> Shape(const PoolProblem& p) {
  if (!ProductFits({p.n, p.c, p.h, p.w}) || !ProductFits({p.n, p.c, p.output_h, p.output_w}) ||
      !ProductFits({p.r, p.s}) || !Positive({p.stride[0], p.stride[1]})) {
    return Invalid("pool: sizes must be positive and below 2^31 elements");
  }
  // A window that lies in the padding alone would have no largest element, and no pixel to divide
  // by.
  if (p.pad[0] < 0 || p.pad[0] >= p.r || p.pad[1] < 0 || p.pad[1] >= p.s || p.pad[2] < 0 ||
      p.pad[2] >= p.r || p.pad[3] < 0 || p.pad[3] >= p.s) {
    return Invalid("pool: padding must be smaller than the window");
  }
  // The last window has to begin inside of the image, however the output's size was rounded.
  if ((p.output_h - 1) * p.stride[0] >= p.h + p.pad[0] ||
      (p.output_w - 1) * p.stride[1] >= p.w + p.pad[1]) {
    return Invalid("pool: an output window lies outside of the image");
  }
  ProblemShape shape;
  shape.inputs = {p.n * p.c * p.h * p.w};
  shape.outputs = {p.n * p.c * p.output_h * p.output_w};
  shape.flops = shape.outputs[0] * p.r * p.s;
  return shape;
}

Result<ProblemShape> Shape(const RowsProblem& p) {
  if (!ProductFits({p.rows, p.columns})) return Invalid("rows: sizes out of range");
  if (!(p.epsilon >= 0 && std::isfinite(p.epsilon))) return Invalid("rows: epsilon out of range");
  if (!Positive({p.inner, p.channels}) || p.rows % p.inner != 0 || p.rows % p.channels != 0) {
    return Invalid("rows: rows that do not divide");
  }
  if (p.normalizes() && p.inner != 1) return Invalid("rows: a norm is of dense rows");
  if (p.kind != RowsProblem::Kind::kInstanceNorm && p.channels != 1) {
    return Invalid("rows: only an instance norm has channels");
  }
  const bool is_joined =
      p.kind == RowsProblem::Kind::kLayerNorm || p.kind == RowsProblem::Kind::kRmsNorm;
  if (p.residual && !is_joined) return Invalid("rows: only norms of columns have a residual");
  ProblemShape shape;
  shape.inputs = {p.rows * p.columns};
  if (p.normalizes()) {
    shape.weights = is_joined ? p.columns : p.channels;
    shape.bias = p.kind == RowsProblem::Kind::kRmsNorm ? 0 : shape.weights;
    shape.residual = p.residual ? p.rows * p.columns : 0;
  }
  shape.outputs = {p.reduces() ? p.rows : p.rows * p.columns};
  // 5: largest, subtract, exponential, sum, scale; a layer norm takes about as many.
  shape.flops = p.rows * p.columns * (p.reduces() ? 1 : 5);
  return shape;
}

Result<ProblemShape> Shape(const ScaleShiftProblem& p) {
  if (!ProductFits({p.n, p.c, p.spatial})) return Invalid("scale_shift: sizes out of range");
  ProblemShape shape;
  shape.inputs = {p.n * p.c * p.spatial};
  shape.weights = p.c;
  shape.bias = p.c;
  shape.outputs = shape.inputs;
  shape.flops = 2 * shape.inputs[0];
  return shape;
}

Result<ProblemShape> Shape(const ElementwiseProblem& p) {
  if (!ShapeFits(p.shape)) return Invalid("elementwise: shape out of range");
  ProblemShape shape;
  for (const auto& input : p.inputs) {
    if (!ShapeFits(input) || input.size() > p.shape.size()) {
      return Invalid("elementwise: an input does not broadcast to the shape");
    }
    const std::vector<int64_t> full = WithRank(input, p.shape.size());
    for (size_t d = 0; d < full.size(); ++d) {
      if (full[d] != 1 && full[d] != p.shape[d]) {
        return Invalid("elementwise: an input does not broadcast to the shape");
      }
    }
    shape.inputs.push_back(ElementCount(input));
  }
  if (!p.input_types.empty() && p.input_types.size() != p.inputs.size()) {
    return Invalid("elementwise: a type for each input, or none");
  }
  Result<Expression> expression = Expression::Of(p);
  if (!expression.ok()) return expression.error();
  if (expression.value().type() != p.result_type) {
    return Invalid("elementwise: the expression gives another type than the result's");
  }
  shape.outputs = {ElementCount(p.shape)};
  shape.flops = shape.outputs[0] * expression.value().operations();
  return shape;
}

}  // namespace

Result<ProblemShape> ShapeOf(const Problem& problem) {
  return std::visit([](const auto& p) -> Result<ProblemShape> { return Shape(p); }, problem);
}

const char* ProblemName(const Problem& problem) {
  static constexpr const char* kNames[] = {
      "conv",        "separable_conv", "gemm",     "attention",  "pool",   "rows",
      "scale_shift", "elementwise",    "movement", "recurrence", "resize", "recurrent_layer"};
  return kNames[problem.index()];
}

bool LayoutMatters(const Problem& problem) {
  if (const auto* p = std::get_if<ElementwiseProblem>(&problem)) return p->shape.size() == 4;
  if (const auto* p = std::get_if<MovementProblem>(&problem)) {
    return p->inputs[0].size() == 4 &&
           (p->kind == MovementProblem::Kind::kConcat || p->kind == MovementProblem::Kind::kSlice ||
            p->kind == MovementProblem::Kind::kPad);
  }
  return !std::holds_alternative<GemmProblem>(problem) &&
         !std::holds_alternative<AttentionProblem>(problem) &&
         !std::holds_alternative<RowsProblem>(problem) &&
         !std::holds_alternative<RecurrenceProblem>(problem) &&
         !std::holds_alternative<RecurrentLayerProblem>(problem);
}

}  // namespace plait::cuda
