#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/recurrent_layer.h"

// The reference evaluation of recurrent layers: one direction after the other, step by step, the
// whole batch in each. Sequences that have ended keep their states.

namespace plait {
namespace {

using Values = std::vector<double>;

// nullptr: omitted.
const Values* ValuesOf(EvalInputs inputs, size_t index) {
  if (index >= inputs.size() || inputs[index] == nullptr) return nullptr;
  return &std::get<Values>(inputs[index]->values);
}

// nullptr: not asked for.
Values* ValuesOf(EvalOutputs outputs, size_t index) {
  return index < outputs.size() ? &std::get<Values>(outputs[index].values) : nullptr;
}

// The steps of each image's sequence.
absl::StatusOr<std::vector<int64_t>> LengthsOf(const RecurrentLayer& layer, EvalInputs inputs) {
  if (inputs.size() <= kRecurrentLengths || inputs[kRecurrentLengths] == nullptr) {
    return std::vector<int64_t>(static_cast<size_t>(layer.batch), layer.steps);
  }
  const auto& lengths = std::get<std::vector<int64_t>>(inputs[kRecurrentLengths]->values);
  for (const int64_t length : lengths) {
    if (length >= 0 && length <= layer.steps) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("sequence_lens must be in [0, ", layer.steps, "], has ", length));
  }
  return lengths;
}

// Rows and columns exchanged, so that products read rows.
Values Transposed(const double* values, int64_t rows, int64_t columns) {
  Values result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[j * rows + i] = values[i * columns + j];
  }
  return result;
}

// One direction of a layer.
class Direction {
 public:
  Direction(const RecurrentKind& kind, const RecurrentLayer& layer, EvalInputs inputs,
            int64_t direction)
      : layer_(layer),
        inputs_(inputs),
        direction_(direction),
        columns_(kind.gates * layer.hidden),
        activations_(absl::MakeConstSpan(layer.activations)
                         .subspan(direction * kind.activations, kind.activations)),
        state_(FirstStates(kRecurrentHidden)),
        cell_(FirstStates(kind.has_cell ? kRecurrentCell : kRecurrentHidden)) {
    const Values& w = *ValuesOf(inputs, kRecurrentW);
    const Values& r = *ValuesOf(inputs, kRecurrentR);
    w_ = Transposed(w.data() + direction * columns_ * layer.input, columns_, layer.input);
    weights_ = r.data() + direction * columns_ * layer.hidden;
    r_ = Transposed(weights_, columns_, layer.hidden);
    if (const Values* bias = ValuesOf(inputs, kRecurrentB)) {
      bias_ = bias->data() + direction * 2 * columns_;
    }
    if (const Values* peepholes = ValuesOf(inputs, kRecurrentPeepholes)) {
      peepholes_ = peepholes->data() + direction * 3 * layer.hidden;
    }
  }

  void Run(const Attributes& attributes, const std::vector<int64_t>& lengths,
           void (*step)(const RecurrentRow& row), Values* y) {
    Values of_input(static_cast<size_t>(layer_.batch * columns_));
    Values of_state(of_input.size());
    for (int64_t s = 0; s < layer_.steps; ++s) {
      Multiply(s, lengths, &of_input, &of_state);
      for (int64_t b = 0; b < layer_.batch; ++b) {
        if (s >= lengths[b]) continue;
        step({.attributes = attributes,
              .activations = activations_,
              .clip = layer_.clip,
              .input_products = of_input.data() + b * columns_,
              .state_products = of_state.data() + b * columns_,
              .weights = weights_,
              .bias = bias_ == nullptr ? nullptr : bias_ + columns_,
              .peepholes = peepholes_,
              .state = state_.data() + b * layer_.hidden,
              .cell = cell_.data() + b * layer_.hidden,
              .hidden = layer_.hidden});
        std::copy_n(
            state_.begin() + b * layer_.hidden, layer_.hidden,
            y->begin() + layer_.y_row(StepOf(s, lengths[b]), direction_, b) * layer_.hidden);
      }
    }
  }

  void WriteLast(Values* y_h, Values* y_c) const {
    for (int64_t b = 0; b < layer_.batch; ++b) {
      const int64_t to = layer_.state_row(direction_, b) * layer_.hidden;
      const int64_t from = b * layer_.hidden;
      if (y_h != nullptr) std::copy_n(state_.begin() + from, layer_.hidden, y_h->begin() + to);
      if (y_c != nullptr) std::copy_n(cell_.begin() + from, layer_.hidden, y_c->begin() + to);
    }
  }

 private:
  // [batch, hidden]; zeros where they are not given.
  Values FirstStates(size_t input) const {
    Values states(static_cast<size_t>(layer_.batch * layer_.hidden));
    const Values* const given = ValuesOf(inputs_, input);
    for (int64_t b = 0; given != nullptr && b < layer_.batch; ++b) {
      std::copy_n(given->begin() + layer_.state_row(direction_, b) * layer_.hidden, layer_.hidden,
                  states.begin() + b * layer_.hidden);
    }
    return states;
  }

  // The place in the sequence that is looked at as number `s`.
  int64_t StepOf(int64_t s, int64_t length) const {
    return layer_.walks_back(direction_) ? length - 1 - s : s;
  }

  // Both products of all images, with the biases.
  void Multiply(int64_t s, const std::vector<int64_t>& lengths, Values* of_input,
                Values* of_state) const {
    const Values& x = *ValuesOf(inputs_, kRecurrentX);
    Values rows(static_cast<size_t>(layer_.batch * layer_.input));
    for (int64_t b = 0; b < layer_.batch; ++b) {
      if (s >= lengths[b]) continue;
      std::copy_n(x.begin() + layer_.x_row(StepOf(s, lengths[b]), b) * layer_.input, layer_.input,
                  rows.begin() + b * layer_.input);
    }
    for (int64_t i = 0; i < layer_.batch * columns_; ++i) {
      (*of_input)[i] = bias_ == nullptr ? 0 : bias_[i % columns_];
      (*of_state)[i] = bias_ == nullptr ? 0 : bias_[columns_ + i % columns_];
    }
    AddProduct<double>({rows.data(), layer_.batch, layer_.input, layer_.input},
                       {w_.data(), layer_.input, columns_, columns_},
                       {of_input->data(), layer_.batch, columns_, columns_});
    AddProduct<double>({state_.data(), layer_.batch, layer_.hidden, layer_.hidden},
                       {r_.data(), layer_.hidden, columns_, columns_},
                       {of_state->data(), layer_.batch, columns_, columns_});
  }

  const RecurrentLayer& layer_;
  EvalInputs inputs_;
  int64_t direction_;
  int64_t columns_;  // of all gates
  absl::Span<const RecurrentActivation> activations_;
  Values state_;
  Values cell_;
  Values w_;
  Values r_;
  const double* weights_ = nullptr;
  const double* bias_ = nullptr;
  const double* peepholes_ = nullptr;
};

}  // namespace

double RecurrentRow::Activate(size_t index, double x) const {
  return activations[index](clip > 0 ? std::clamp(x, -clip, clip) : x);
}

absl::Status EvaluateRecurrent(const RecurrentKind& kind, const OpCall& call, EvalInputs inputs,
                               EvalOutputs outputs, void (*step)(const RecurrentRow& row)) {
  if (!std::holds_alternative<Values>(outputs[0].values)) {
    return absl::UnimplementedError("a field has no activations");
  }
  PLAIT_ASSIGN_OR_RETURN(const RecurrentLayer layer,
                         ReadRecurrentLayer(kind, call.attributes, call.input_types));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, LengthsOf(layer, inputs));
  for (int64_t d = 0; d < layer.directions; ++d) {
    Direction direction(kind, layer, inputs, d);
    direction.Run(call.attributes, lengths, step, ValuesOf(outputs, 0));
    direction.WriteLast(ValuesOf(outputs, 1), ValuesOf(outputs, 2));
  }
  return absl::OkStatus();
}

}  // namespace plait
