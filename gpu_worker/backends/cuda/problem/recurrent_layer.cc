#include "gpu_worker/backends/cuda/problem/recurrent_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/shape_checks.h"

namespace plait::cuda {
namespace {

using Kind = RecurrentLayerProblem::Kind;

// How far a gate is open.
double Opened(double x) { return Activate(Activation::kSigmoid, x); }

// One direction's walk.
class Walk {
 public:
  Walk(const RecurrentLayerProblem& problem, const HostOperands& operands, int64_t direction)
      : p_(problem),
        operands_(operands),
        direction_(direction),
        h_(Initial(p_.initial_h, 1)),
        c_(Initial(p_.initial_c, p_.initial_h ? 2 : 1)) {}

  const std::vector<double>& h() const { return h_; }  // [batch, hidden]
  const std::vector<double>& c() const { return c_; }

  void Step(int64_t time) {
    std::vector<double> next(h_.size());
    for (int64_t image = 0; image < p_.batch; ++image) {
      const double* const h = h_.data() + image * p_.hidden;
      if (p_.kind == Kind::kGru) Reset(time, image);
      for (int64_t unit = 0; unit < p_.hidden; ++unit) {
        double& result = next[image * p_.hidden + unit];
        const auto gate = [&](int64_t g) {
          return OfInput(time, image, g, unit) + OfState(h, g, unit);
        };
        if (p_.kind == Kind::kRnn) {
          result = Activate(p_.activation, gate(0));
        } else if (p_.kind == Kind::kLstm) {
          double& c = c_[image * p_.hidden + unit];
          c = Opened(gate(2)) * c + Opened(gate(0)) * std::tanh(gate(3));
          result = Opened(gate(1)) * std::tanh(c);
        } else {
          const double z = Opened(gate(0));
          const double product = p_.linear_before_reset ? reset_[unit] * OfState(h, 2, unit)
                                                        : OfState(reset_.data(), 2, unit);
          const double candidate = std::tanh(OfInput(time, image, 2, unit) + product);
          result = (1 - z) * candidate + z * h[unit];
        }
      }
    }
    h_ = std::move(next);
  }

 private:
  std::vector<double> Initial(bool is_given, size_t input) const {
    const int64_t count = p_.batch * p_.hidden;
    if (!is_given) return std::vector<double>(static_cast<size_t>(count), 0.0);
    const auto first = operands_.inputs[input].begin() + direction_ * count;
    return {first, first + count};
  }

  // Of W or R, with its bias.
  double Bias(int64_t of_r, int64_t gate, int64_t unit) const {
    if (!p_.bias) return 0;
    return operands_.bias[((direction_ * 2 + of_r) * p_.gates() + gate) * p_.hidden + unit];
  }

  int64_t WeightRow(int64_t gate, int64_t unit) const {
    return (direction_ * p_.gates() + gate) * p_.hidden + unit;
  }

  double OfInput(int64_t time, int64_t image, int64_t gate, int64_t unit) const {
    const float* const x = operands_.inputs[0].data() + (time * p_.batch + image) * p_.input;
    const float* const w = operands_.weights.data() + WeightRow(gate, unit) * p_.input;
    double sum = Bias(0, gate, unit);
    for (int64_t i = 0; i < p_.input; ++i) sum += static_cast<double>(x[i]) * w[i];
    return sum;
  }

  double OfState(const double* h, int64_t gate, int64_t unit) const {
    const float* const r = operands_.second_weights.data() + WeightRow(gate, unit) * p_.hidden;
    double sum = Bias(1, gate, unit);
    for (int64_t i = 0; i < p_.hidden; ++i) sum += h[i] * r[i];
    return sum;
  }

  // GRU's reset gates of an image, times the state where that is what they reset.
  void Reset(int64_t time, int64_t image) {
    const double* const h = h_.data() + image * p_.hidden;
    reset_.resize(static_cast<size_t>(p_.hidden));
    for (int64_t unit = 0; unit < p_.hidden; ++unit) {
      reset_[unit] = Opened(OfInput(time, image, 1, unit) + OfState(h, 1, unit));
      if (!p_.linear_before_reset) reset_[unit] *= h[unit];
    }
  }

  const RecurrentLayerProblem& p_;
  const HostOperands& operands_;
  const int64_t direction_;
  std::vector<double> h_, c_;
  std::vector<double> reset_;
};

}  // namespace

Result<ProblemShape> Shape(const RecurrentLayerProblem& p) {
  const int64_t directions = p.directions(), gates = p.gates();
  // 4: what a kernel keeps of all states.
  if (!ProductFits({p.steps, p.batch, p.input}) ||
      !ProductFits({directions, gates, p.hidden, p.input}) ||
      !ProductFits({directions, gates, p.hidden, p.hidden}) ||
      !ProductFits({p.steps, directions, p.batch, p.hidden}) ||
      !ProductFits({4, directions, p.batch, p.hidden}) || p.steps > kRecurrentStepsMax) {
    return Invalid("recurrent_layer: sizes out of range, or too many steps");
  }
  if (p.kind != Kind::kLstm && (p.initial_c || p.y_c)) {
    return Invalid("recurrent_layer: only LSTM has a cell");
  }
  if (p.kind != Kind::kGru && p.linear_before_reset) {
    return Invalid("recurrent_layer: only GRU resets");
  }
  if (p.activation != Activation::kTanh &&
      !(p.kind == Kind::kRnn && p.activation == Activation::kRelu)) {
    return Invalid("recurrent_layer: an activation that cells have not");
  }
  if (!p.y && !p.y_h && !p.y_c) return Invalid("recurrent_layer: no outputs");
  ProblemShape shape;
  shape.inputs = {p.steps * p.batch * p.input};
  if (p.initial_h) shape.inputs.push_back(p.states());
  if (p.initial_c) shape.inputs.push_back(p.states());
  shape.weights = directions * gates * p.hidden * p.input;
  shape.second_weights = directions * gates * p.hidden * p.hidden;
  shape.bias = p.bias ? directions * 2 * gates * p.hidden : 0;
  if (p.y) shape.outputs.push_back(p.steps * p.states());
  if (p.y_h) shape.outputs.push_back(p.states());
  if (p.y_c) shape.outputs.push_back(p.states());
  shape.flops = 2 * p.steps * p.states() * gates * (p.input + p.hidden);
  return shape;
}

std::vector<std::vector<double>> RunRecurrentLayer(const RecurrentLayerProblem& p,
                                                   const HostOperands& operands) {
  const int64_t count = p.batch * p.hidden;  // of a direction's states
  std::vector<double> y(p.y ? static_cast<size_t>(p.steps * p.states()) : 0);
  std::vector<double> y_h, y_c;
  for (int64_t direction = 0; direction < p.directions(); ++direction) {
    Walk walk(p, operands, direction);
    for (int64_t step = 0; step < p.steps; ++step) {
      const int64_t time = p.walks_back(direction) ? p.steps - 1 - step : step;
      walk.Step(time);
      if (!p.y) continue;
      std::copy(walk.h().begin(), walk.h().end(),
                y.begin() + (time * p.directions() + direction) * count);
    }
    y_h.insert(y_h.end(), walk.h().begin(), walk.h().end());
    y_c.insert(y_c.end(), walk.c().begin(), walk.c().end());
  }
  std::vector<std::vector<double>> outputs;
  if (p.y) outputs.push_back(std::move(y));
  if (p.y_h) outputs.push_back(std::move(y_h));
  if (p.y_c) outputs.push_back(std::move(y_c));
  return outputs;
}

}  // namespace plait::cuda
