#include "gpu_worker/backends/cuda/problem/reference_problem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/index_error.h"
#include "gpu_worker/backends/cuda/problem/recurrent_layer.h"
#include "gpu_worker/backends/cuda/problem/sample.h"

namespace plait::cuda {
namespace {

using Coordinates = std::vector<int64_t>;
// Computes one element of one output from its place in memory. Each Prepare() below is the
// definition in problem.h, written as a closure that several threads may call at once.
using Element = std::function<double(int output, int64_t offset)>;

// The logical place of a memory offset.
// Each digit of a mixed-radix number: the offset by the stride, modulo the size.
Coordinates Locate(int64_t offset, const std::vector<int64_t>& shape, MemoryLayout layout) {
  const std::vector<int64_t> strides = StridesOf(shape, layout);
  Coordinates place(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) place[d] = offset / strides[d] % shape[d];
  return place;
}

int64_t Offset(const Coordinates& place, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < place.size(); ++d) offset += place[d] * strides[d];
  return offset;
}

double Relu(bool on, double x) { return on ? Maximum(x, 0.0) : x; }

// Convolution without its bias, residual and activation.
double ConvSum(const ConvProblem& p, MemoryLayout layout, const HostOperands& operands,
               const Coordinates& y) {
  const int64_t channels = p.c / p.groups;
  // The first input channel of the output channel's group.
  const int64_t first = y[1] / (p.k / p.groups) * channels;
  const auto xs = StridesOf({p.n, p.c, p.h, p.w}, layout);
  const auto ws = StridesOf({p.k, channels, p.r, p.s}, layout);
  const float* x = operands.inputs[0].data();
  double sum = 0;
  for (int64_t r = 0; r < p.r; ++r) {
    const int64_t h = y[2] * p.stride[0] - p.pad[0] + r * p.dilation[0];
    if (h < 0 || h >= p.h) continue;
    for (int64_t s = 0; s < p.s; ++s) {
      const int64_t w = y[3] * p.stride[1] - p.pad[1] + s * p.dilation[1];
      if (w < 0 || w >= p.w) continue;
      const float* pixel = x + y[0] * xs[0] + first * xs[1] + h * xs[2] + w * xs[3];
      const float* weight = operands.weights.data() + y[1] * ws[0] + r * ws[2] + s * ws[3];
      for (int64_t c = 0; c < channels; ++c) {
        sum += Relu(p.prologue_relu, pixel[c * xs[1]]) * static_cast<double>(weight[c * ws[1]]);
      }
    }
  }
  return sum;
}

double Finish(const ConvProblem& p, double sum, const std::vector<float>& bias,
              const HostOperands& operands, int64_t channel, int64_t offset) {
  if (p.bias) sum += bias[channel];
  if (p.residual) sum += operands.residual[offset];
  return Activate(p.activation, sum);
}

Element Prepare(const ConvProblem& p, MemoryLayout layout, const HostOperands& operands) {
  return [&p, layout, &operands](int, int64_t offset) {
    const Coordinates y = Locate(offset, {p.n, p.k, p.output_h(), p.output_w()}, layout);
    return Finish(p, ConvSum(p, layout, operands, y), operands.bias, operands, y[1], offset);
  };
}

Element Prepare(const SeparableConvProblem& p, MemoryLayout layout, const HostOperands& operands) {
  return [&p, layout, &operands](int, int64_t offset) {
    const ConvProblem& q = p.pointwise;
    const Coordinates y = Locate(offset, {q.n, q.k, q.h, q.w}, layout);
    double sum = 0;
    for (int64_t c = 0; c < q.c; ++c) {
      const double inner =
          Finish(p.depthwise, ConvSum(p.depthwise, layout, operands, {y[0], c, y[2], y[3]}),
                 operands.bias, operands, c, 0);
      sum += Relu(q.prologue_relu, inner) * operands.second_weights[y[1] * q.c + c];
    }
    return Finish(q, sum, operands.second_bias, operands, y[1], offset);
  };
}

Element Prepare(const GemmProblem& p, MemoryLayout, const HostOperands& operands) {
  return [&p, &operands](int, int64_t offset) {
    const int64_t column = offset % p.n, row = offset / p.n % p.m, batch = offset / p.n / p.m;
    const float* a = operands.inputs[0].data() + batch * p.m * p.k;
    const float* b =
        p.weights ? operands.weights.data() : operands.inputs[1].data() + batch * p.k * p.n;
    double sum = 0;
    for (int64_t i = 0; i < p.k; ++i) {
      sum += static_cast<double>(p.transpose_a ? a[i * p.m + row] : a[row * p.k + i]) *
             (p.transpose_b ? b[column * p.k + i] : b[i * p.n + column]);
    }
    if (p.bias) sum += operands.bias[column];
    if (p.residual) sum += operands.residual[offset];
    return Activate(p.activation, sum);
  };
}

Element Prepare(const AttentionProblem& p, MemoryLayout, const HostOperands& operands) {
  // A stride of 0 where the mask repeats.
  const std::vector<int64_t> mask_shape = MaskShape(p);
  std::vector<int64_t> mask_strides = StridesOf(mask_shape, MemoryLayout::kNchw);
  for (size_t d = 0; d < 3; ++d) mask_strides[d] *= mask_shape[d] == 1 ? 0 : 1;
  const auto qs = HeadStrides(p, p.query_strides, p.query);
  const auto ks = HeadStrides(p, p.key_strides, p.keys);
  const auto vs = HeadStrides(p, p.value_strides, p.keys);
  const auto ys = HeadStrides(p, p.result_strides, p.query);
  return [&p, &operands, mask_strides, qs, ks, vs, ys](int, int64_t offset) {
    // Axes of one element may have any stride.
    const auto at = [&](int d, int64_t size) { return size == 1 ? 0 : offset / ys[d] % size; };
    const int64_t batch = at(0, p.batch), head = at(1, p.heads), row = at(2, p.query);
    const int64_t d = at(3, p.dim);
    const int64_t mask_row =
        batch * mask_strides[0] + head * mask_strides[1] + row * mask_strides[2];
    const float* q = operands.inputs[0].data() + batch * qs[0] + head * qs[1] + row * qs[2];
    const float* k = operands.inputs[1].data() + batch * ks[0] + head * ks[1];
    const float* v = operands.inputs[2].data() + batch * vs[0] + head * vs[1];
    // Hidden keys stay at minus infinity and so get the weight 0.
    std::vector<double> scores(p.keys, -std::numeric_limits<double>::infinity());
    for (int64_t i = 0; i < p.keys; ++i) {
      if (p.causal && i > row) break;
      double sum = 0;
      for (int64_t j = 0; j < p.dim; ++j) {
        sum += static_cast<double>(q[j * qs[3]]) * k[i * ks[2] + j * ks[3]];
      }
      scores[i] = sum * static_cast<double>(p.factor());
      if (p.mask) scores[i] += operands.inputs[3][mask_row + i];
    }
    // Subtracting the largest score changes nothing but keeps exp() finite.
    const double top = *std::max_element(scores.begin(), scores.end());
    double total = 0, sum = 0;
    for (int64_t i = 0; i < p.keys; ++i) {
      const double weight = std::exp(scores[i] - top);
      total += weight;
      sum += weight * v[i * vs[2] + d * vs[3]];
    }
    return sum / total;
  };
}

Element Prepare(const PoolProblem& p, MemoryLayout layout, const HostOperands& operands) {
  return [&p, layout, &operands](int, int64_t offset) {
    const Coordinates y = Locate(offset, {p.n, p.c, p.output_h, p.output_w}, layout);
    const auto strides = StridesOf({p.n, p.c, p.h, p.w}, layout);
    double sum = 0, top = -std::numeric_limits<double>::infinity();
    int64_t inside = 0, padded = 0;
    for (int64_t r = 0; r < p.r; ++r) {
      for (int64_t s = 0; s < p.s; ++s) {
        const int64_t h = y[2] * p.stride[0] - p.pad[0] + r;
        const int64_t w = y[3] * p.stride[1] - p.pad[1] + s;
        // A window begins inside of the padding, so that only its far end can leave the padded
        // image.
        padded += h < p.h + p.pad[2] && w < p.w + p.pad[3];
        if (h < 0 || h >= p.h || w < 0 || w >= p.w) continue;
        const double x = operands.inputs[0][Offset({y[0], y[1], h, w}, strides)];
        sum += x;
        top = Maximum(top, x);
        ++inside;
      }
    }
    if (p.mode == PoolProblem::Mode::kMax) return top;
    return sum / static_cast<double>(p.mode == PoolProblem::Mode::kAverage ? inside : padded);
  };
}

double Normalized(const RowsProblem& p, const HostOperands& operands, int64_t offset) {
  const int64_t row = offset / p.columns * p.columns, column = offset % p.columns;
  const auto at = [&](int64_t i) {
    return static_cast<double>(operands.inputs[0][row + i]) +
           (p.residual ? operands.residual[row + i] : 0.0f);
  };
  double mean = 0, variance = 0;
  if (p.kind != RowsProblem::Kind::kRmsNorm) {
    for (int64_t i = 0; i < p.columns; ++i) mean += at(i);
    mean /= static_cast<double>(p.columns);
  }
  // Two passes: the one-pass formula would subtract two large numbers.
  for (int64_t i = 0; i < p.columns; ++i) variance += (at(i) - mean) * (at(i) - mean);
  variance /= static_cast<double>(p.columns);
  const double deviation = std::sqrt(variance + static_cast<double>(p.epsilon));
  const int64_t scaled =
      p.kind == RowsProblem::Kind::kInstanceNorm ? offset / p.columns % p.channels : column;
  const double bias = operands.bias.empty() ? 0 : operands.bias[scaled];
  return (at(column) - mean) / deviation * operands.weights[scaled] + bias;
}

Element Prepare(const RowsProblem& p, MemoryLayout, const HostOperands& operands) {
  using Kind = RowsProblem::Kind;
  return [&p, &operands](int, int64_t offset) {
    if (p.normalizes()) return Normalized(p, operands, offset);
    // A softmax has one output per element, a reduction one per row.
    const int64_t outer = offset / p.inner / (p.reduces() ? 1 : p.columns);
    const float* x = operands.inputs[0].data() + outer * p.columns * p.inner + offset % p.inner;
    double top = x[0], sum = 0;
    for (int64_t i = 1; i < p.columns; ++i) top = Maximum(top, x[i * p.inner]);
    for (int64_t i = 0; i < p.columns; ++i) {
      sum += p.reduces() ? x[i * p.inner] : std::exp(x[i * p.inner] - top);
    }
    if (p.kind == Kind::kReduceMax) return top;
    if (p.kind == Kind::kReduceSum) return sum;
    if (p.kind == Kind::kReduceMean) return sum / static_cast<double>(p.columns);
    const double shifted = operands.inputs[0][offset] - top;
    return p.kind == Kind::kSoftmax ? std::exp(shifted) / sum : shifted - std::log(sum);
  };
}

Element Prepare(const ScaleShiftProblem& p, MemoryLayout layout, const HostOperands& operands) {
  return [&p, layout, &operands](int, int64_t offset) {
    const int64_t c = layout == MemoryLayout::kNhwc ? offset % p.c : offset / p.spatial % p.c;
    const double x = operands.inputs[0][offset];
    return Activate(p.activation, x * operands.weights[c] + operands.bias[c]);
  };
}

Element Prepare(const ElementwiseProblem& p, MemoryLayout layout, const HostOperands& operands) {
  const Result<Expression> parsed = Expression::Of(p);
  return [&p, layout, &operands, expression = parsed.value()](int, int64_t offset) {
    const Coordinates y = Locate(offset, p.shape, layout);
    std::vector<double> values;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      const std::vector<int64_t> shape = WithRank(p.inputs[i], p.shape.size());
      const std::vector<int64_t> strides = StridesOf(shape, layout);
      int64_t at = 0;
      for (size_t d = 0; d < shape.size(); ++d) at += shape[d] == 1 ? 0 : y[d] * strides[d];
      values.push_back(operands.inputs[i][at]);
    }
    return expression.Evaluate(values);
  };
}

// All of the program for one number of a column: what it is made of is not looked for.
Element Prepare(const RecurrenceProblem& p, MemoryLayout, const HostOperands& operands) {
  return [&p, &operands, steps = StepsOf(p).value()](int output, int64_t offset) {
    const int64_t column = offset % p.columns;
    std::vector<double> values;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      for (int64_t row = 0; row < p.inputs[i]; ++row) {
        values.push_back(operands.inputs[i][row * p.columns + column]);
      }
    }
    for (const Expression& step : steps) values.push_back(step.Evaluate(values));
    return values[p.outputs[output][offset / p.columns]];
  };
}

Element Prepare(const ResizeProblem& p, MemoryLayout layout, const HostOperands& operands) {
  return [&p, layout, &operands](int, int64_t offset) {
    const Coordinates y = Locate(offset, {p.n, p.c, p.rows.output(), p.columns.output()}, layout);
    const auto strides = StridesOf({p.n, p.c, p.rows.input, p.columns.input}, layout);
    double sum = 0;
    for (int64_t r = y[2] * p.rows.taps; r < (y[2] + 1) * p.rows.taps; ++r) {
      for (int64_t s = y[3] * p.columns.taps; s < (y[3] + 1) * p.columns.taps; ++s) {
        const Coordinates x = {y[0], y[1], p.rows.elements[r], p.columns.elements[s]};
        sum += static_cast<double>(p.rows.weights[r]) * p.columns.weights[s] *
               operands.inputs[0][Offset(x, strides)];
      }
    }
    return sum;
  };
}

// Each state is made of all those before it, so that the whole layer is computed at once.
Element Prepare(const RecurrentLayerProblem& p, MemoryLayout, const HostOperands& operands) {
  auto values = std::make_shared<std::vector<std::vector<double>>>(RunRecurrentLayer(p, operands));
  return [values](int output, int64_t offset) { return (*values)[output][offset]; };
}

// Where the element lies that padding goes on with; `place` may lie outside.
int64_t PlaceOf(MovementProblem::Fill fill, int64_t place, int64_t size) {
  switch (fill) {
    case MovementProblem::Fill::kEdge:
      return std::clamp<int64_t>(place, 0, size - 1);
    case MovementProblem::Fill::kReflect:
      return place < 0 ? -place : place < size ? place : 2 * (size - 1) - place;
    case MovementProblem::Fill::kWrap:
      return (place % size + size) % size;
    case MovementProblem::Fill::kValue:
      break;
  }
  return place;
}

double Moved(const MovementProblem& p, MemoryLayout layout, const HostOperands& operands,
             const Coordinates& y, int output) {
  using Kind = MovementProblem::Kind;
  size_t input = 0;
  Coordinates x = y;
  if (p.kind == Kind::kTranspose) {
    for (size_t d = 0; d < y.size(); ++d) x[p.permutation[d]] = y[d];
  } else if (p.kind == Kind::kConcat) {
    while (x[p.axis] >= p.inputs[input][p.axis]) x[p.axis] -= p.inputs[input++][p.axis];
  } else if (p.kind == Kind::kSlice) {
    x[p.axis] += p.starts[output];
  } else if (p.kind == Kind::kPad) {
    for (size_t d = 0; d < y.size(); ++d) {
      if (!p.steps.empty()) x[d] *= p.steps[d];
      x[d] = PlaceOf(p.fill, x[d] - p.starts[d], p.inputs[0][d]);
      if (x[d] < 0 || x[d] >= p.inputs[0][d]) return p.value;
    }
  }
  // A transpose reads and writes row-major tensors, whatever the layout of the others.
  if (p.kind == Kind::kTranspose) layout = MemoryLayout::kNchw;
  return operands.inputs[input][Offset(x, StridesOf(p.inputs[input], layout))];
}

Element Prepare(const MovementProblem& p, MemoryLayout layout, const HostOperands& operands) {
  using Kind = MovementProblem::Kind;
  const auto shapes = OutputShapes(p);
  return [&p, layout, &operands, shapes](int output, int64_t offset) -> double {
    if (p.kind == Kind::kCopy) return operands.inputs[output][offset];
    if (p.kind == Kind::kTranspose) {
      return Moved(p, layout, operands, Locate(offset, shapes[0], MemoryLayout::kNchw), 0);
    }
    if (p.kind != Kind::kGather) {
      return Moved(p, layout, operands, Locate(offset, shapes[output], layout), output);
    }
    int64_t inner = 1;
    for (size_t d = p.axis + 1; d < p.inputs[0].size(); ++d) inner *= p.inputs[0][d];
    const auto count = static_cast<int64_t>(operands.indices.size());
    const int64_t index = RowOf(p, operands.indices[offset / inner % count]);
    const int64_t outer = offset / inner / count;
    return operands.inputs[0][(outer * p.inputs[0][p.axis] + index) * inner + offset % inner];
  };
}

void FillValues(const Element& element, std::vector<ReferenceElement>& elements, int64_t cost) {
  const auto count = static_cast<int64_t>(elements.size());
  const auto fill = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      elements[i].value = element(elements[i].output, elements[i].offset);
    }
  };
  // About a millisecond of work: much more than it takes to start a thread.
  constexpr int64_t kOperationsPerThread = 1 << 20;
  const int64_t wanted =
      std::min<int64_t>(count * cost / kOperationsPerThread, std::thread::hardware_concurrency());
  const int64_t threads = std::clamp<int64_t>(wanted, 1, std::min<int64_t>(count, 64));
  std::vector<std::thread> workers;
  for (int64_t t = 1; t < threads; ++t) {
    workers.emplace_back(fill, count * t / threads, count * (t + 1) / threads);
  }
  fill(0, count / threads);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

std::vector<ReferenceElement> ComputeReference(const Problem& problem, const ProblemShape& shape,
                                               MemoryLayout layout, const HostOperands& operands,
                                               int64_t operations_max, uint64_t seed) {
  int64_t total = 0;
  for (int64_t count : shape.outputs) total += count;
  if (total == 0) return {};
  // Multiplications per element, roughly: they decide how many elements the caller's limit allows.
  int64_t cost = std::max<int64_t>(shape.flops / total, 1) + 30;  // 30: locating an element
  if (const auto* p = std::get_if<RowsProblem>(&problem)) cost = 4 * p->columns + 30;
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) cost = p->keys * (p->dim + 10);
  if (const auto* p = std::get_if<RecurrenceProblem>(&problem)) {
    cost = shape.flops / p->columns + 30;
  }
  // They are looked up.
  if (std::holds_alternative<RecurrentLayerProblem>(problem)) cost = 1;
  if (const auto* p = std::get_if<SeparableConvProblem>(&problem)) {
    cost = 2 * p->pointwise.c * (p->depthwise.r * p->depthwise.s + 30);
  }
  const auto shapes = OutputsInMemory(problem, layout);
  std::vector<ReferenceElement> elements;
  for (size_t o = 0; o < shape.outputs.size(); ++o) {
    const int64_t count = shape.outputs[o];
    const double share = static_cast<double>(count) / static_cast<double>(total);
    const int64_t evaluations_max = operations_max / cost;
    const int64_t samples =
        std::max<int64_t>(64, static_cast<int64_t>(share * static_cast<double>(evaluations_max)));
    for (const int64_t offset : SampleOffsets(shapes[o], samples, seed + o)) {
      elements.push_back({static_cast<int>(o), offset, 0});
    }
  }
  const Element element =
      std::visit([&](const auto& p) { return Prepare(p, layout, operands); }, problem);
  FillValues(element, elements, cost);
  return elements;
}

}  // namespace plait::cuda
