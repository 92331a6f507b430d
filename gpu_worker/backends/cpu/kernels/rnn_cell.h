#pragma once

#include <array>
#include <vector>

#include "gpu_worker/backends/cpu/offers/rnn_layer_pattern.h"

namespace plait {

// Some columns of one image's state in one step of a recurrent layer.
struct RnnCellRow {
  std::array<float*, 4> gates = {};         // the state's products; overwritten
  std::array<const float*, 4> inputs = {};  // the input's products
  const float* state = nullptr;             // of the last step
  float* next = nullptr;                    // of this one
  float* cell = nullptr;                    // of the last step, and then of this one
  std::array<const float*, 3> peepholes = {};
  const float* candidate_bias = nullptr;  // of GRU's R, where the product is reset
  float* reset_state = nullptr;           // where the state is
  int64_t size = 0;
};

// What the cells of RNN, GRU and LSTM do with their products, in loops over columns. Free of state,
// so that threads may have different columns.
class RnnCell {
 public:
  // REQUIRES: the layer is one of RnnLayerAt.
  RnnCell(const RnnLayer& layer, OpKind op, const Attributes& attributes, int64_t direction);

  // Whether the product of the third gate needs what Reset writes for all columns.
  bool has_reset() const { return has_reset_; }

  // GRU's first two gates, and the state that they reset.
  void Reset(const RnnCellRow& row) const;

  // The next state. REQUIRES: of a cell that has_reset, Reset of the same row.
  void Step(const RnnCellRow& row) const;

 private:
  void Activate(size_t index, float* values, int64_t size) const;
  void StepGru(const RnnCellRow& row) const;
  void StepLstm(const RnnCellRow& row) const;

  OpKind op_;
  bool has_reset_ = false;
  bool couples_gates_ = false;
  float clip_ = 0;
  std::vector<RecurrentActivation> activations_;
};

}  // namespace plait
