#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/rnn_cell.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

// An LSTM of 512 states along 100 steps of 256 numbers: one product [100, 256] x [256, 4 * 512]
// makes what the four gates have of the input in all steps; then each step multiplies the last
// state by four matrices of [512, 512]. A step's work is divided by columns of the state, so that
// whoever has 64 of them multiplies for all gates of these, and makes the next state of them while
// they are in the first cache. Threads meet once in a step, and a GRU that resets the state before
// it is multiplied has them meet twice. Of a layer that is small and walks both ways two threads
// have a direction each, and never meet.

namespace plait {
namespace {

constexpr int64_t kRnnChunkBlocksMax = 8;

// A direction of the layer.
struct Direction {
  FmaProduct product;  // by R, a matrix for each gate
  RnnCell cell;
  const float* candidate_bias = nullptr;  // of a GRU that resets the product
  const float* peepholes = nullptr;       // [3, hidden]
};

// What the layer reads and writes; nullptr: is not there, or nobody asks for it.
struct Tensors {
  const float* x = nullptr;
  const int32_t* lengths = nullptr;  // of each image's sequence
  const float* first_hidden = nullptr;
  const float* first_cell = nullptr;
  float* y = nullptr;
  float* last_hidden = nullptr;
  float* last_cell = nullptr;
};

// For the time of a run; all but the first of one direction.
struct Scratch {
  // [steps, batch] (or [batch, steps]), [directions, gates, hidden]
  float* input_products = nullptr;
  float* gates = nullptr;        // [gates, batch, hidden]
  float* states[2] = {};         // [batch, hidden], in turn
  float* cells = nullptr;        // likewise
  float* reset_state = nullptr;  // likewise
};

class RnnLayerKernel : public CpuKernel {
 public:
  RnnLayerKernel(int width, RnnLayer layer, const Tensors& tensors, std::vector<Scratch> scratch,
                 std::unique_ptr<CpuKernel> input_product, std::vector<Direction> directions)
      : divides_directions_(DividesDirections(layer)),
        kind_(layer.kind),
        layer_(std::move(layer.layer)),
        tensors_(tensors),
        scratch_(std::move(scratch)),
        input_product_(std::move(input_product)),
        directions_(std::move(directions)),
        runner_(width),
        chunk_blocks_(std::clamp<int64_t>(directions_[0].product.blocks() / (int64_t{4} * width), 1,
                                          kRnnChunkBlocksMax)) {}

  absl::Status Run() override {
    for (int64_t b = 0; b < layer_.batch; ++b) {
      if (LengthOf(b) >= 0 && LengthOf(b) <= layer_.steps) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("sequence_lens must be in [0, ", layer_.steps, "], has ", LengthOf(b)));
    }
    PLAIT_RETURN_IF_ERROR(input_product_->Run());
    const auto run = [&](int64_t begin, int64_t end, int) -> absl::Status {
      for (int64_t d = begin; d < end; ++d) PLAIT_RETURN_IF_ERROR(RunDirection(d));
      return absl::OkStatus();
    };
    return divides_directions_ ? runner_.Run(layer_.directions, run) : run(0, layer_.directions, 0);
  }

 private:
  struct Step {
    int64_t direction;
    int64_t number;  // of those that were taken before
    const float* state;
    float* next;
  };

  int64_t LengthOf(int64_t image) const {
    return tensors_.lengths == nullptr ? layer_.steps : tensors_.lengths[image];
  }

  // The place in the image's sequence that is looked at.
  int64_t PlaceOf(const Step& step, int64_t image) const {
    return layer_.walks_back(step.direction) ? LengthOf(image) - 1 - step.number : step.number;
  }

  // In the calling thread where directions are divided.
  absl::Status RunDirection(int64_t d) {
    const Scratch& scratch = scratch_[d];
    ReadStates(tensors_.first_hidden, d, scratch.states[0]);
    ReadStates(tensors_.first_cell, d, scratch.cells);
    for (int64_t s = 0; s < layer_.steps; ++s) {
      PLAIT_RETURN_IF_ERROR(RunStep({d, s, scratch.states[s % 2], scratch.states[(s + 1) % 2]}));
    }
    WriteStates(scratch.states[layer_.steps % 2], d, tensors_.last_hidden);
    WriteStates(scratch.cells, d, tensors_.last_cell);
    return absl::OkStatus();
  }

  void ReadStates(const float* from, int64_t direction, float* states) const {
    std::fill_n(states, layer_.batch * layer_.hidden, 0.0f);
    for (int64_t b = 0; from != nullptr && b < layer_.batch; ++b) {
      std::copy_n(from + layer_.state_row(direction, b) * layer_.hidden, layer_.hidden,
                  states + b * layer_.hidden);
    }
  }

  void WriteStates(const float* states, int64_t direction, float* to) const {
    for (int64_t b = 0; to != nullptr && b < layer_.batch; ++b) {
      std::copy_n(states + b * layer_.hidden, layer_.hidden,
                  to + layer_.state_row(direction, b) * layer_.hidden);
    }
  }

  absl::Status RunStep(const Step& step) {
    const Direction& direction = directions_[step.direction];
    if (!direction.cell.has_reset()) {
      return RunGates(step, 0, kind_.gates, step.state, &RnnCell::Step);
    }
    PLAIT_RETURN_IF_ERROR(RunGates(step, 0, 2, step.state, &RnnCell::Reset));
    return RunGates(step, 2, 3, scratch_[step.direction].reset_state, &RnnCell::Step);
  }

  // Multiplies `left` for some gates, and calls `then` for what comes of it.
  absl::Status RunGates(const Step& step, int64_t first_gate, int64_t last_gate, const float* left,
                        void (RnnCell::*then)(const RnnCellRow& row) const) {
    const Direction& direction = directions_[step.direction];
    const FmaProduct& product = direction.product;
    const auto run = [&](int64_t begin, int64_t end, int) -> absl::Status {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t first = chunk * chunk_blocks_;
        const int64_t last = std::min(product.blocks(), first + chunk_blocks_);
        const int64_t column = first * product.block_columns();
        for (int64_t gate = first_gate; gate < last_gate; ++gate) {
          PLAIT_RETURN_IF_ERROR(product.Run({.left = left,
                                             .rows = layer_.batch,
                                             .matrix = gate,
                                             .first = first,
                                             .last = last,
                                             .result = GatesOf(step, gate, 0) + column}));
        }
        const int64_t columns = std::min(layer_.hidden, last * product.block_columns()) - column;
        for (int64_t b = 0; b < layer_.batch; ++b) {
          if (step.number >= LengthOf(b)) {
            if (then == &RnnCell::Step) KeepRow(step, b, column, columns);
            continue;
          }
          const RnnCellRow row = RowOf(step, b, column, columns);
          (direction.cell.*then)(row);
          if (then == &RnnCell::Step) WriteRow(step, b, column, row);
        }
      }
      return absl::OkStatus();
    };
    const int64_t chunks = CeilDiv(product.blocks(), chunk_blocks_);
    return divides_directions_ ? run(0, chunks, 0) : runner_.Run(chunks, run);
  }

  float* GatesOf(const Step& step, int64_t gate, int64_t image) const {
    return scratch_[step.direction].gates + (gate * layer_.batch + image) * layer_.hidden;
  }

  RnnCellRow RowOf(const Step& step, int64_t image, int64_t column, int64_t columns) const {
    const Direction& direction = directions_[step.direction];
    const int64_t hidden = layer_.hidden;
    const float* const inputs =
        scratch_[step.direction].input_products +
        (layer_.x_row(PlaceOf(step, image), image) * layer_.directions + step.direction) *
            kind_.gates * hidden +
        column;
    const int64_t at = image * hidden + column;
    RnnCellRow row = {.state = step.state + at,
                      .next = step.next + at,
                      .cell = scratch_[step.direction].cells + at,
                      .reset_state = scratch_[step.direction].reset_state + at,
                      .size = columns};
    for (int64_t gate = 0; gate < kind_.gates; ++gate) {
      row.gates[gate] = GatesOf(step, gate, image) + column;
      row.inputs[gate] = inputs + gate * hidden;
    }
    if (direction.candidate_bias != nullptr) row.candidate_bias = direction.candidate_bias + column;
    for (int64_t i = 0; direction.peepholes != nullptr && i < 3; ++i) {
      row.peepholes[i] = direction.peepholes + i * hidden + column;
    }
    return row;
  }

  void WriteRow(const Step& step, int64_t image, int64_t column, const RnnCellRow& row) const {
    if (tensors_.y == nullptr) return;
    const int64_t y_row = layer_.y_row(PlaceOf(step, image), step.direction, image);
    std::copy_n(row.next, row.size, tensors_.y + y_row * layer_.hidden + column);
  }

  // A sequence that has ended keeps its state, and Y has zeros behind it.
  void KeepRow(const Step& step, int64_t image, int64_t column, int64_t columns) const {
    const int64_t at = image * layer_.hidden + column;
    std::copy_n(step.state + at, columns, step.next + at);
    if (tensors_.y == nullptr) return;
    const int64_t y_row = layer_.y_row(step.number, step.direction, image);
    std::fill_n(tensors_.y + y_row * layer_.hidden + column, columns, 0.0f);
  }

  const bool divides_directions_;  // among the threads, instead of the columns of each
  const RecurrentKind kind_;
  const RecurrentLayer layer_;
  const Tensors tensors_;
  const std::vector<Scratch> scratch_;  // by direction
  std::unique_ptr<CpuKernel> input_product_;
  std::vector<Direction> directions_;
  ChunkRunner runner_;
  int64_t chunk_blocks_;
};

// The data of an input; nullptr where it is omitted.
template <typename T = float>
absl::StatusOr<const T*> InputOf(LoadContext* context, const Node& node, size_t index) {
  if (index >= node.inputs.size() || node.inputs[index] == kNoTensor) return nullptr;
  PLAIT_ASSIGN_OR_RETURN(const Operand operand,
                         FindIn(context, node.inputs[index], Format::kPlain));
  return reinterpret_cast<const T*>(operand.data);
}

// The numbers of an output; nullptr where nobody reads it.
absl::StatusOr<float*> FloatsOf(LoadContext* context, const Node& node, size_t index) {
  PLAIT_ASSIGN_OR_RETURN(std::byte* const data, OutputOf(context, node, index, Format::kPlain));
  return reinterpret_cast<float*>(data);
}

absl::StatusOr<Tensors> TensorsOf(LoadContext* context, const Node& node, bool has_cell) {
  Tensors tensors;
  PLAIT_ASSIGN_OR_RETURN(tensors.x, InputOf(context, node, kRecurrentX));
  PLAIT_ASSIGN_OR_RETURN(tensors.lengths, InputOf<int32_t>(context, node, kRecurrentLengths));
  PLAIT_ASSIGN_OR_RETURN(tensors.first_hidden, InputOf(context, node, kRecurrentHidden));
  PLAIT_ASSIGN_OR_RETURN(tensors.y, FloatsOf(context, node, 0));
  PLAIT_ASSIGN_OR_RETURN(tensors.last_hidden, FloatsOf(context, node, 1));
  if (!has_cell) return tensors;
  PLAIT_ASSIGN_OR_RETURN(tensors.first_cell, InputOf(context, node, kRecurrentCell));
  PLAIT_ASSIGN_OR_RETURN(tensors.last_cell, FloatsOf(context, node, 2));
  return tensors;
}

absl::StatusOr<std::vector<Scratch>> ScratchFor(LoadContext* context, const RnnLayer& rnn) {
  const RecurrentLayer& layer = rnn.layer;
  const int64_t columns = rnn.kind.gates * layer.hidden;
  const int64_t state = layer.batch * layer.hidden;
  PLAIT_ASSIGN_OR_RETURN(
      float* const input_products,
      ScratchOf<float>(context, layer.steps * layer.batch * layer.directions * columns));
  std::vector<Scratch> all(layer.directions);
  for (Scratch& scratch : all) {
    scratch.input_products = input_products;
    PLAIT_ASSIGN_OR_RETURN(scratch.gates, ScratchOf<float>(context, layer.batch * columns));
    for (float** const buffer :
         {&scratch.states[0], &scratch.states[1], &scratch.cells, &scratch.reset_state}) {
      PLAIT_ASSIGN_OR_RETURN(*buffer, ScratchOf<float>(context, state));
    }
  }
  return all;
}

// The input's product of all steps and directions, with all of the bias that needs no reset.
// W is [directions, gates * hidden, input], which is one matrix of rows; B is [directions, 2, gates
// * hidden].
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadInputProduct(LoadContext* context, const Node& node,
                                                            const RnnLayer& rnn, const float* x,
                                                            float* result) {
  const RecurrentLayer& layer = rnn.layer;
  const int64_t columns = rnn.kind.gates * layer.hidden;
  PLAIT_ASSIGN_OR_RETURN(const float* const given, InputOf(context, node, kRecurrentB));
  float* bias = nullptr;
  if (given != nullptr) {
    const Fingerprint form = FingerprintBuilder().Add("input_bias").Finish();
    PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                           context->AllocatePacked(layer.directions * columns * 4, form));
    bias = reinterpret_cast<float*>(place.data);
    const bool resets_product =
        node.op == OpKind::kGRU && node.attributes->Int("linear_before_reset", 0) != 0;
    const int64_t whole = resets_product ? 2 * layer.hidden : columns;
    const int64_t count = place.is_packed ? 0 : layer.directions * columns;
    for (int64_t i = 0; i < count; ++i) {
      const float* const of_direction = given + i / columns * 2 * columns;
      const int64_t column = i % columns;
      bias[i] = of_direction[column] + (column < whole ? of_direction[columns + column] : 0);
    }
  }
  const ConstantProduct shape = {.rows = layer.steps * layer.batch,
                                 .depth = layer.input,
                                 .columns = layer.directions * columns,
                                 .right_row_floats = 1,
                                 .right_column_floats = layer.input};
  Tensor w;
  const auto make = [&]() -> absl::StatusOr<const float*> {
    PLAIT_ASSIGN_OR_RETURN(w, context->ConstantValue(node.inputs[kRecurrentW]));
    return reinterpret_cast<const float*>(w.bytes().data());
  };
  PLAIT_ASSIGN_OR_RETURN(
      FmaProduct product,
      FmaProduct::Load(context, shape, {.bias = bias, .may_widen_blocks = true}, make));
  return FmaKernel::Create(context, shape, {const_cast<float*>(x), layer.input},
                           {result, shape.columns}, std::move(product), RowEpilogue());
}

absl::StatusOr<Direction> LoadDirection(LoadContext* context, const Node& node, const RnnLayer& rnn,
                                        int64_t number) {
  const int64_t hidden = rnn.layer.hidden;
  const int64_t columns = rnn.kind.gates * hidden;
  Tensor r;
  const auto make = [&]() -> absl::StatusOr<const float*> {
    PLAIT_ASSIGN_OR_RETURN(r, context->ConstantValue(node.inputs[kRecurrentR]));
    return reinterpret_cast<const float*>(r.bytes().data()) + number * columns * hidden;
  };
  const ConstantProduct shape = {.rows = rnn.layer.batch,
                                 .depth = hidden,
                                 .columns = hidden,
                                 .right_row_floats = 1,
                                 .right_column_floats = hidden};
  PLAIT_ASSIGN_OR_RETURN(FmaProduct product,
                         FmaProduct::Load(context, shape,
                                          {.matrices = rnn.kind.gates,
                                           .matrix_floats = hidden * hidden,
                                           .blocks_together = kRnnChunkBlocksMax},
                                          make));
  PLAIT_RETURN_IF_ERROR(product.AddRows(rnn.layer.batch));
  Direction direction = {std::move(product), RnnCell(rnn, node.op, *node.attributes, number)};
  if (node.op == OpKind::kGRU && !direction.cell.has_reset()) {
    PLAIT_ASSIGN_OR_RETURN(const float* const bias, InputOf(context, node, kRecurrentB));
    const int64_t of_direction = (2 * number + 1) * columns;
    if (bias != nullptr) direction.candidate_bias = bias + of_direction + 2 * hidden;
  }
  if (rnn.kind.has_cell) {
    PLAIT_ASSIGN_OR_RETURN(direction.peepholes, InputOf(context, node, kRecurrentPeepholes));
    if (direction.peepholes != nullptr) direction.peepholes += number * 3 * hidden;
  }
  return direction;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadRnnLayer(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1) return context->Refuse();
  std::optional<RnnLayer> rnn = RnnLayerAt(graph, nodes[0]);
  if (!rnn.has_value()) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Tensors tensors, TensorsOf(context, node, rnn->kind.has_cell));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Scratch> scratch, ScratchFor(context, *rnn));
  PLAIT_ASSIGN_OR_RETURN(
      std::unique_ptr<CpuKernel> input_product,
      LoadInputProduct(context, node, *rnn, tensors.x, scratch.front().input_products));
  std::vector<Direction> directions;
  for (int64_t d = 0; d < rnn->layer.directions; ++d) {
    PLAIT_ASSIGN_OR_RETURN(Direction direction, LoadDirection(context, node, *rnn, d));
    directions.push_back(std::move(direction));
  }
  return std::make_unique<RnnLayerKernel>(context->width(), *std::move(rnn), tensors,
                                          std::move(scratch), std::move(input_product),
                                          std::move(directions));
}

}  // namespace plait
