#include "gpu_worker/backends/cpu/kernels/elementwise_program.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/batch_statistics.h"
#include "gpu_worker/backends/cpu/kernels/tile_choices.h"
#include "gpu_worker/backends/cpu/kernels/tile_instructions.h"
#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/elementwise_ops.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "gpu_worker/backends/groups/recurrence_pattern.h"

// Gelu as exporters write it, x * (1 + Erf(x / c)) * 0.5 with c the root of 2, is five nodes.
// Operands come first, in the order in which nodes read them: r0 is x, r1 is c, r2 is 1, r3 is 0.5.
// Then
//   r4 = div r0 r1
//   r5 = erf r4
//   r6 = add r5 r2
//   r7 = mul r0 r6
//   r8 = mul r7 r3
// r0 and r8 are tiles of the tensors themselves; r1, r2 and r3 are filled once per thread. Of the
// others two exist at a time at most, so that r4 to r7 share two slots: the whole group takes five
// tiles of scratch, and no value between x and the result ever reaches memory.
//
// A recurrence is the same by rows: every tensor has a register for each of its rows, an operator
// is one instruction for each row of its result, and Split and Concat are none, but other lists of
// the same registers.

namespace plait {
namespace {

// Checks nothing that IsElementwiseGroup or IsRecurrence has checked: used once it has said yes.
class Compiler {
 public:
  // With a frame the program is one by rows.
  Compiler(LoadContext* context, std::optional<RowFrame> frame)
      : context_(context), graph_(context->graph()), frame_(std::move(frame)) {}

  absl::StatusOr<TileProgram> Compile() {
    const std::vector<NodeId>& nodes = context_->kernel().nodes;
    // Operands come first, so that a program can start by loading them.
    for (const NodeId node : nodes) PLAIT_RETURN_IF_ERROR(AddOperands(graph_.node(node)));
    program_.register_count = static_cast<int>(program_.operands.size());
    for (const NodeId node : nodes) PLAIT_RETURN_IF_ERROR(AddRows(graph_.node(node)));
    for (const TensorId output : OutputsOf(graph_, nodes)) {
      PLAIT_RETURN_IF_ERROR(AddResult(output));
    }
    return std::move(program_);
  }

 private:
  bool Has(NodeId node) const {
    const std::vector<NodeId>& nodes = context_->kernel().nodes;
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }
  bool IsProduced(TensorId tensor) const { return Has(graph_.tensor(tensor).producer); }

  // How many registers a tensor has.
  int64_t RowsOf(TensorId tensor) const {
    return frame_.has_value() ? frame_->RowsOf(graph_.type(tensor)).value_or(1) : 1;
  }

  Operand RowOf(const Operand& operand, int64_t row) const {
    if (!frame_.has_value()) return operand;
    const int64_t columns = frame_->column_count();
    const bool is_number = operand.type.elements() == 1;
    return {{DataType::kFloat32, is_number ? Shape{} : Shape{columns}},
            Format::kPlain,
            operand.data + row * columns * BytesOf(DataType::kFloat32)};
  }

  // Of the row that instructions are being made for.
  int RegisterOf(TensorId tensor) const {
    const std::vector<int>& rows = registers_.at(tensor);
    return rows.size() == 1 ? rows[0] : rows[row_];
  }

  absl::Status AddOperands(const Node& node) {
    // Bounds, statistics and sizes become part of the instruction.
    const bool first_only = node.op == OpKind::kClip || node.op == OpKind::kBatchNormalization ||
                            node.op == OpKind::kSplit || IsQuantization(node.op) ||
                            PowerOf(graph_, node).has_value();
    const size_t count = first_only ? 1 : node.inputs.size();
    for (size_t i = 0; i < count; ++i) {
      const TensorId input = node.inputs[i];
      if (IsProduced(input) || registers_.contains(input)) continue;
      PLAIT_ASSIGN_OR_RETURN(const Operand operand, context_->Find(input));
      std::vector<int>& rows = registers_[input];  // none of a tensor without rows
      for (int64_t row = 0; row < RowsOf(input); ++row) {
        rows.push_back(static_cast<int>(program_.operands.size()));
        if (!NeedsIntegers(input)) {
          program_.bytes_as_floats.push_back(static_cast<int>(program_.operands.size()));
        }
        program_.operands.push_back(RowOf(operand, row));
      }
    }
    return node.op == OpKind::kBatchNormalization ? AddStatistics(node) : absl::OkStatus();
  }

  absl::Status AddStatistics(const Node& node) {
    PLAIT_ASSIGN_OR_RETURN(const BatchStatistics statistics, LoadBatchStatistics(context_, node));
    TensorType type{DataType::kFloat32, Shape(graph_.type(node.inputs[0]).rank() - 1, 1)};
    type.shape[0] = statistics.channels;
    statistics_[node.outputs[0]] = static_cast<int>(program_.operands.size());
    for (float* const floats : {statistics.scale, statistics.shift}) {
      program_.operands.push_back({type, Format::kPlain, reinterpret_cast<std::byte*>(floats)});
    }
    return absl::OkStatus();
  }

  bool IsFloat(TensorId tensor) const { return plait::IsFloat(graph_.type(tensor).dtype); }

  void Emit(TileInstruction::Function run, TensorId result, std::initializer_list<int> operands,
            TileInstruction instruction = {}) {
    instruction.run = run;
    int i = 0;
    for (const int operand : operands) instruction.operands[i++] = operand;
    std::vector<int>& rows = registers_[result];
    if (rows.size() == row_) rows.push_back(program_.register_count++);
    instruction.result = rows[row_];
    program_.instructions.push_back(instruction);
  }

  void EmitUnary(const Node& node, const UnaryChoice& choice) {
    Emit(RunUnary, node.outputs[0], {RegisterOf(node.inputs[0])},
         {.loop = static_cast<int>(choice.loop), .alpha = choice.alpha, .beta = choice.beta});
  }

  absl::Status AddRows(const Node& node) {
    if (node.op == OpKind::kSplit) {
      TakeApart(node);
      return absl::OkStatus();
    }
    if (node.op == OpKind::kConcat) {
      PutTogether(node);
      return absl::OkStatus();
    }
    const auto rows = static_cast<size_t>(RowsOf(node.outputs[0]));
    for (row_ = 0; row_ < rows; ++row_) PLAIT_RETURN_IF_ERROR(AddNode(node));
    return absl::OkStatus();
  }

  void TakeApart(const Node& node) {
    const std::vector<int> rows = registers_.at(node.inputs[0]);
    auto next = rows.begin();
    for (const TensorId output : node.outputs) {
      const auto end = next + RowsOf(output);
      registers_[output] = {next, end};
      next = end;
    }
  }

  void PutTogether(const Node& node) {
    std::vector<int> rows;
    for (const TensorId input : node.inputs) {
      const std::vector<int>& part = registers_.at(input);
      rows.insert(rows.end(), part.begin(), part.end());
    }
    registers_[node.outputs[0]] = std::move(rows);
  }

  // A register is stored in one place and computed: where that is not so, a copy of it is.
  absl::Status AddResult(TensorId output) {
    PLAIT_ASSIGN_OR_RETURN(const Operand memory, context_->Find(output));
    const std::vector<int>& rows = registers_.at(output);
    for (size_t row = 0; row < rows.size(); ++row) {
      int stored = rows[row];
      const bool is_operand = stored < static_cast<int>(program_.operands.size());
      if (is_operand || !stored_.insert(stored).second) {
        stored = program_.register_count++;
        program_.instructions.push_back({.run = RunUnary,
                                         .operands = {rows[row], -1, -1},
                                         .result = stored,
                                         .loop = static_cast<int>(UnaryLoop::kCopy)});
      }
      program_.results.push_back({RowOf(memory, static_cast<int64_t>(row)), stored});
    }
    return absl::OkStatus();
  }

  absl::Status AddNode(const Node& node) {
    if (const std::optional<UnaryChoice> unary = UnaryOf(node)) {
      EmitUnary(node, *unary);
      return absl::OkStatus();
    }
    if (const std::optional<UnaryLoop> power = PowerOf(graph_, node)) {
      EmitUnary(node, {*power});
      return absl::OkStatus();
    }
    if (const std::optional<BinaryChoice> binary = BinaryOf(node.op))
      return AddBinary(node, *binary);
    if (const std::optional<TruthChoice> truth = TruthOf(node.op)) return AddTruth(node, *truth);
    return AddSpecial(node);
  }

  // Sum, Max and Min take any number of inputs: the first two, then one at a time.
  absl::Status AddBinary(const Node& node, const BinaryChoice& choice) {
    const bool floats = IsFloat(node.outputs[0]);
    if (!floats && !choice.integers.has_value()) return context_->Refuse();
    const int loop = floats ? static_cast<int>(choice.floats) : static_cast<int>(*choice.integers);
    if (node.inputs.size() == 1) {
      const int input = RegisterOf(node.inputs[0]);
      if (floats) EmitUnary(node, {UnaryLoop::kCopy});
      if (!floats) Emit(RunNarrow, node.outputs[0], {input}, {.dtype = DataType::kInt64});
      return absl::OkStatus();
    }
    int left = RegisterOf(node.inputs[0]);
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      Emit(floats ? RunBinary : RunInteger, node.outputs[0], {left, RegisterOf(node.inputs[i])},
           {.loop = loop, .dtype = graph_.type(node.outputs[0]).dtype});
      left = RegisterOf(node.outputs[0]);
    }
    return absl::OkStatus();
  }

  absl::Status AddTruth(const Node& node, const TruthChoice& choice) {
    const bool floats = IsFloat(node.inputs[0]);
    if (floats && !choice.floats.has_value()) return context_->Refuse();
    const int loop = floats ? static_cast<int>(*choice.floats) : static_cast<int>(choice.integers);
    Emit(floats ? RunCompare : RunInteger, node.outputs[0],
         {RegisterOf(node.inputs[0]), RegisterOf(node.inputs[1])}, {.loop = loop});
    return absl::OkStatus();
  }

  // Operators that are no line of one loop: by their operands, their types or their constants.
  absl::Status AddSpecial(const Node& node) {
    const TensorId result = node.outputs[0];
    const auto input = [&](int i) { return RegisterOf(node.inputs[i]); };
    switch (node.op) {
      case OpKind::kClip:
        EmitUnary(node, ClipOf(node));
        return absl::OkStatus();
      case OpKind::kBatchNormalization:
        Emit(RunMultiplyAdd, result,
             {input(0), statistics_.at(result), statistics_.at(result) + 1});
        return absl::OkStatus();
      case OpKind::kWhere:
        Emit(IsFloat(result) ? RunSelect : RunIntegerSelect, result,
             {input(0), input(1), input(2)});
        return absl::OkStatus();
      case OpKind::kBitShift:
        Emit(RunShift, result, {input(0), input(1)},
             {.loop = node.attributes->String("direction", "") == "LEFT" ? 0 : 1,
              .dtype = graph_.type(result).dtype});
        return absl::OkStatus();
      case OpKind::kBitwiseNot:
        Emit(RunBitwiseNot, result, {input(0)}, {.dtype = graph_.type(result).dtype});
        return absl::OkStatus();
      case OpKind::kNot:
        Emit(RunNot, result, {input(0)});
        return absl::OkStatus();
      case OpKind::kIsInf:
        Emit(RunIsInf, result, {input(0)},
             {.alpha = node.attributes->Int("detect_negative", 1) != 0 ? 1.0f : 0.0f,
              .beta = node.attributes->Int("detect_positive", 1) != 0 ? 1.0f : 0.0f});
        return absl::OkStatus();
      case OpKind::kIsNaN:
        Emit(RunIsNaN, result, {input(0)});
        return absl::OkStatus();
      case OpKind::kNeg:
        EmitUnary(node, {UnaryLoop::kLinear, -1.0f, -0.0f});  // -0 + +0 would be +0
        return absl::OkStatus();
      case OpKind::kCast:
        AddCast(node);
        return absl::OkStatus();
      case OpKind::kQuantizeLinear:
        AddQuantize(node);
        return absl::OkStatus();
      case OpKind::kDequantizeLinear:
        AddDequantize(node);
        return absl::OkStatus();
      default:
        return context_->Refuse();
    }
  }

  // Registers know float32 and int64 only: a cast between integer types only narrows.
  void AddCast(const Node& node) {
    const int input = RegisterOf(node.inputs[0]);
    const DataType to = graph_.type(node.outputs[0]).dtype;
    if (IsFloat(node.inputs[0]) && IsFloat(node.outputs[0])) {
      EmitUnary(node, {FloatCastOf(to)});
    } else if (IsFloat(node.outputs[0])) {
      Emit(RunToFloat, node.outputs[0], {input});
    } else {
      Emit(IsFloat(node.inputs[0]) ? RunToInteger : RunNarrow, node.outputs[0], {input},
           {.dtype = to});
    }
  }

  // Whether nodes of this program read the integers of a tensor themselves. What a DequantizeLinear
  // reads may be floats.
  bool NeedsIntegers(TensorId tensor) const {
    const absl::Span<const NodeId> users = graph_.users(tensor);
    return !IsByte(graph_.type(tensor).dtype) ||
           std::any_of(users.begin(), users.end(), [&](NodeId user) {
             return graph_.node(user).op != OpKind::kDequantizeLinear && Has(user);
           });
  }

  void EmitLinear(TensorId result, int input, float factor, float addend) {
    Emit(RunUnary, result, {input},
         {.loop = static_cast<int>(UnaryLoop::kLinear), .alpha = factor, .beta = addend});
  }

  // Floats that are integers less their zero point come first, and stay at hand: mostly nothing but
  // a DequantizeLinear with the same zero point reads the result.
  void AddQuantize(const Node& node) {
    const TensorId result = node.outputs[0];
    const Quantization quantization = QuantizationOf(graph_, node);
    const int distance = program_.register_count++;
    program_.instructions.push_back({.run = RunUnary,
                                     .operands = {RegisterOf(node.inputs[0]), -1, -1},
                                     .result = distance,
                                     .loop = static_cast<int>(UnaryLoop::kQuantize),
                                     .alpha = quantization.scale,
                                     .beta = quantization.lowest});
    distances_[result].push_back(distance);
    if (NeedsIntegers(result)) {
      Emit(RunFromDistances, result, {distance}, {.alpha = quantization.zero_point});
    } else if (IsStored(result)) {
      EmitLinear(result, distance, 1, quantization.zero_point);
      program_.bytes_as_floats.push_back(RegisterOf(result));
    }
  }

  bool IsStored(TensorId tensor) const {
    const absl::Span<const NodeId> users = graph_.users(tensor);
    return graph_.is_output(tensor) ||
           std::any_of(users.begin(), users.end(), [&](NodeId user) { return !Has(user); });
  }

  // (x - zero point) * scale; all integers here are exact.
  void AddDequantize(const Node& node) {
    const TensorId input = node.inputs[0];
    const TensorId result = node.outputs[0];
    const Quantization own = QuantizationOf(graph_, node);
    float addend = -own.zero_point;
    int floats = -1;
    if (const auto known = distances_.find(input); known != distances_.end()) {
      floats = known->second[row_];
      addend += QuantizationOf(graph_, graph_.node(graph_.tensor(input).producer)).zero_point;
    } else if (!NeedsIntegers(input)) {
      floats = RegisterOf(input);
    } else {
      Emit(RunToFloat, result, {RegisterOf(input)});
      floats = RegisterOf(result);
    }
    if (addend != 0) {
      EmitLinear(result, floats, 1, addend);
      floats = RegisterOf(result);
    }
    EmitLinear(result, floats, own.scale, 0);
  }

  // A bound that is omitted is infinite, so that one loop serves all forms.
  UnaryChoice ClipOf(const Node& node) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    UnaryChoice choice{UnaryLoop::kClip, -kInfinity, kInfinity};
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoTensor) continue;
      const float bound = graph_.tensor(node.inputs[i]).constant->inline_value()->at<float>(0);
      (i == 1 ? choice.alpha : choice.beta) = bound;
    }
    return choice;
  }

  LoadContext* context_;
  const Graph& graph_;
  const std::optional<RowFrame> frame_;
  TileProgram program_;
  absl::flat_hash_map<TensorId, std::vector<int>> registers_;  // one for each row
  size_t row_ = 0;
  // Of what QuantizeLinear gives: see AddQuantize.
  absl::flat_hash_map<TensorId, std::vector<int>> distances_;
  absl::flat_hash_set<int> stored_;
  absl::flat_hash_map<TensorId, int> statistics_;  // of a batch normalization's output: its scale
};

}  // namespace

absl::StatusOr<TileProgram> CompileTileProgram(LoadContext* context) {
  if (!IsElementwiseGroup(context->graph(), context->kernel().nodes)) return context->Refuse();
  return Compiler(context, std::nullopt).Compile();
}

absl::StatusOr<TileProgram> CompileRowProgram(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (!IsRecurrence(graph, nodes)) return context->Refuse();
  return Compiler(context, FrameOf(graph, nodes)).Compile();
}

}  // namespace plait
