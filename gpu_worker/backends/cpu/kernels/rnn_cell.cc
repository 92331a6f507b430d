#include "gpu_worker/backends/cpu/kernels/rnn_cell.h"

#include <algorithm>

#include "gpu_worker/backends/cpu/loops/loops.h"

namespace plait {
namespace {

UnaryLoop LoopOf(RecurrentFunction function) {
  switch (function) {
    case RecurrentFunction::kAffine:
      return UnaryLoop::kLinear;
    case RecurrentFunction::kElu:
      return UnaryLoop::kElu;
    case RecurrentFunction::kHardSigmoid:
      return UnaryLoop::kHardSigmoid;
    case RecurrentFunction::kLeakyRelu:
      return UnaryLoop::kLeakyRelu;
    case RecurrentFunction::kRelu:
      return UnaryLoop::kRelu;
    case RecurrentFunction::kSigmoid:
      return UnaryLoop::kSigmoid;
    case RecurrentFunction::kSoftplus:
      return UnaryLoop::kSoftplus;
    case RecurrentFunction::kSoftsign:
      return UnaryLoop::kSoftsign;
    case RecurrentFunction::kThresholdedRelu:
      return UnaryLoop::kThresholdedRelu;
    default:
      return UnaryLoop::kTanh;
  }
}

void Apply(UnaryLoop loop, const float* x, float* y, int64_t size, float alpha, float beta) {
  Loops().unary[static_cast<int>(loop)](x, y, size, alpha, beta);
}

void Combine(BinaryLoop loop, const float* a, const float* b, float* y, int64_t size) {
  Loops().binary[static_cast<int>(loop)](a, b, y, size);
}

}  // namespace

RnnCell::RnnCell(const RnnLayer& layer, OpKind op, const Attributes& attributes, int64_t direction)
    : op_(op), clip_(layer.layer.clip) {
  has_reset_ = op == OpKind::kGRU && attributes.Int("linear_before_reset", 0) == 0;
  couples_gates_ = attributes.Int("input_forget", 0) != 0;
  const auto first = layer.layer.activations.begin() + direction * layer.kind.activations;
  activations_.assign(first, first + layer.kind.activations);
}

void RnnCell::Activate(size_t index, float* values, int64_t size) const {
  if (clip_ > 0) Apply(UnaryLoop::kClip, values, values, size, -clip_, clip_);
  const RecurrentActivation& own = activations_[index];
  const bool is_scaled = own.function == RecurrentFunction::kScaledTanh;
  if (is_scaled) Apply(UnaryLoop::kLinear, values, values, size, own.beta, 0);
  Apply(LoopOf(own.function), values, values, size, own.alpha, own.beta);
  if (is_scaled) Apply(UnaryLoop::kLinear, values, values, size, own.alpha, 0);
}

void RnnCell::Reset(const RnnCellRow& row) const {
  for (const size_t gate : {0, 1}) {
    Combine(BinaryLoop::kAdd, row.gates[gate], row.inputs[gate], row.gates[gate], row.size);
    Activate(0, row.gates[gate], row.size);
  }
  Combine(BinaryLoop::kMul, row.gates[1], row.state, row.reset_state, row.size);
}

void RnnCell::Step(const RnnCellRow& row) const {
  if (op_ == OpKind::kGRU) return StepGru(row);
  if (op_ == OpKind::kLSTM) return StepLstm(row);
  Combine(BinaryLoop::kAdd, row.gates[0], row.inputs[0], row.next, row.size);
  Activate(0, row.next, row.size);
}

// h' = c + z (h - c)
void RnnCell::StepGru(const RnnCellRow& row) const {
  float* const update = row.gates[0];
  float* const candidate = row.gates[2];
  if (has_reset_) {
    Combine(BinaryLoop::kAdd, candidate, row.inputs[2], candidate, row.size);
  } else {
    for (const size_t gate : {0, 1}) {
      Combine(BinaryLoop::kAdd, row.gates[gate], row.inputs[gate], row.gates[gate], row.size);
      Activate(0, row.gates[gate], row.size);
    }
    if (row.candidate_bias != nullptr) {
      Combine(BinaryLoop::kAdd, candidate, row.candidate_bias, candidate, row.size);
    }
    Loops().multiply_add(candidate, row.gates[1], row.inputs[2], candidate, row.size);
  }
  Activate(1, candidate, row.size);
  Combine(BinaryLoop::kSub, row.state, candidate, row.next, row.size);
  Loops().multiply_add(row.next, update, candidate, row.next, row.size);
}

// Gates lie in the order input, output, forget, candidate; peepholes in that of the first three.
void RnnCell::StepLstm(const RnnCellRow& row) const {
  const LoopTable& loops = Loops();
  float* const input = row.gates[0];
  float* const output = row.gates[1];
  float* const forget = row.gates[2];
  float* const candidate = row.gates[3];
  for (size_t gate = 0; gate < 4; ++gate) {
    Combine(BinaryLoop::kAdd, row.gates[gate], row.inputs[gate], row.gates[gate], row.size);
  }
  const bool has_peepholes = row.peepholes[0] != nullptr;
  if (has_peepholes) {
    loops.multiply_add(row.cell, row.peepholes[0], input, input, row.size);
    loops.multiply_add(row.cell, row.peepholes[2], forget, forget, row.size);
  }
  Activate(0, input, row.size);
  if (couples_gates_) {
    Apply(UnaryLoop::kLinear, input, forget, row.size, -1, 1);
  } else {
    Activate(0, forget, row.size);
  }
  Activate(1, candidate, row.size);
  Combine(BinaryLoop::kMul, forget, row.cell, row.cell, row.size);
  loops.multiply_add(input, candidate, row.cell, row.cell, row.size);
  if (has_peepholes) loops.multiply_add(row.cell, row.peepholes[1], output, output, row.size);
  Activate(0, output, row.size);
  std::copy_n(row.cell, row.size, candidate);
  Activate(2, candidate, row.size);
  Combine(BinaryLoop::kMul, output, candidate, row.next, row.size);
}

}  // namespace plait
