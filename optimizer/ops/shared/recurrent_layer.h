#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

// RNN, GRU and LSTM: layers that walk along a sequence, in one direction or both, and hand a state
// from step to step. They differ in the cell, which makes the next state of the last one and of two
// products for each gate, of the step's input by W and of the state by R. Inputs are X, W, R, B
// (the bias of W, then that of R), sequence_lens, initial_h, and of LSTM initial_c and P
// (peepholes); outputs are Y (all states), Y_h and of LSTM Y_c (the last ones).
namespace plait {

// The places of the inputs.
enum RecurrentInput : size_t {
  kRecurrentX,
  kRecurrentW,
  kRecurrentR,
  kRecurrentB,
  kRecurrentLengths,
  kRecurrentHidden,
  kRecurrentCell,
  kRecurrentPeepholes,
};

// How the cells of the three differ in shape.
struct RecurrentKind {
  int64_t gates;
  int64_t activations;  // of a direction; by default Sigmoid for gates, Tanh for the others
  bool has_cell;        // a second state, and peepholes
};
constexpr RecurrentKind kRnnKind = {1, 1, false};
constexpr RecurrentKind kGruKind = {3, 2, false};
constexpr RecurrentKind kLstmKind = {4, 3, true};

// The functions that cells know, as ONNX names them.
enum class RecurrentFunction : uint8_t {
  kAffine,           // alpha x + beta
  kElu,              // x, below 0 alpha (exp(x) - 1)
  kHardSigmoid,      // min(max(alpha x + beta, 0), 1)
  kLeakyRelu,        // x, below 0 alpha x
  kRelu,             // max(x, 0)
  kScaledTanh,       // alpha tanh(beta x)
  kSigmoid,          // 1 / (1 + exp(-x))
  kSoftplus,         // log(1 + exp(x))
  kSoftsign,         // x / (1 + |x|)
  kTanh,             // tanh(x)
  kThresholdedRelu,  // x above alpha, else 0
};

struct RecurrentActivation {
  RecurrentFunction function = RecurrentFunction::kTanh;
  float alpha = 0;
  float beta = 0;

  double operator()(double x) const;
};

// A layer as its node says. Extents are in elements.
struct RecurrentLayer {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;   // of a step
  int64_t hidden = 0;  // of a state
  int64_t directions = 1;
  bool batch_first = false;  // layout 1: the batch is the first axis of X, Y and states
  bool is_reverse = false;   // of the first direction; the second is always reverse
  float clip = 0;            // bounds what activations read; 0: nothing does
  std::vector<RecurrentActivation> activations;  // those of the second direction behind the first's

  bool walks_back(int64_t direction) const { return is_reverse || direction == 1; }
  // Where a step of an image lies in X, in rows of `input`.
  int64_t x_row(int64_t step, int64_t image) const {
    return batch_first ? image * steps + step : step * batch + image;
  }
  // Where its state lies in Y, in rows of `hidden`.
  int64_t y_row(int64_t step, int64_t direction, int64_t image) const {
    return batch_first ? (image * steps + step) * directions + direction
                       : (step * directions + direction) * batch + image;
  }
  // Where an image's first or last state lies.
  int64_t state_row(int64_t direction, int64_t image) const {
    return batch_first ? image * directions + direction : direction * batch + image;
  }
};

// Errors: InvalidArgument for shapes, directions and activations that do not agree; Unimplemented
// for a function that is none of the above.
absl::StatusOr<RecurrentLayer> ReadRecurrentLayer(const RecurrentKind& kind,
                                                  const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types);

// OpSpec::infer, ::work and ::lower of the three.
Types InferRecurrent(const RecurrentKind& kind, const OpCall& call);
Work WorkOfRecurrent(const RecurrentKind& kind, const OpCall& call,
                     absl::Span<const TensorType> output_types);
absl::Status LowerRecurrent(VersionedNode* node);

// What a cell makes of one image's step. Products are [gates, hidden] each, with their biases.
struct RecurrentRow {
  const Attributes& attributes;
  absl::Span<const RecurrentActivation> activations;  // of the direction
  double clip;
  const double* input_products;
  const double* state_products;
  const double* weights;    // R of the direction: [gates, hidden, hidden]
  const double* bias;       // of R; nullptr: none
  const double* peepholes;  // [3, hidden]; nullptr: none
  double* state;            // the last step's, and then this one's
  double* cell;             // likewise, of a kind that has one
  int64_t hidden;

  // An activation, of what the layer's clip lets through.
  double Activate(size_t index, double x) const;
};

// OpSpec::evaluate of the three, which walks along the sequences and calls `step` for each row.
// Errors: Unimplemented in GF(p); InvalidArgument for a length outside of [0, steps].
absl::Status EvaluateRecurrent(const RecurrentKind& kind, const OpCall& call, EvalInputs inputs,
                               EvalOutputs outputs, void (*step)(const RecurrentRow& row));

}  // namespace plait
