#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/expression_text.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/recurrence_pattern.h"

// Of c1 = f1 * z0 over rows of 512, where f0, f1 = Split(f) and z0, z1 = Split(z), the inputs are f
// and z with two rows each, so values 0 to 3, f1 is value 1 and z0 value 2, and c1 is the step
// "mul(x1,x2)", value 4. Split and Concat are lists of values and no steps.

namespace plait::cuda {
namespace {

// In a step's text the inputs are x0, x1, ...; in the program's these are values.
std::string WithValues(absl::string_view text, absl::Span<const int64_t> values) {
  std::string replaced;
  for (size_t at = 0; at < text.size();) {
    // An x that no digit follows belongs to the name of a function.
    size_t end = at + 1;
    while (end < text.size() && text[at] == 'x' && absl::ascii_isdigit(text[end])) ++end;
    if (end == at + 1) {
      replaced += text[at];
    } else {
      const std::string number(text.substr(at + 1, end - at - 1));
      absl::StrAppend(&replaced, "x", values[std::stoul(number)]);
    }
    at = end;
  }
  return replaced;
}

class ProgramMaker {
 public:
  ProgramMaker(const Graph& graph, absl::Span<const NodeId> nodes, const RowFrame& frame)
      : graph_(graph), nodes_(nodes), frame_(frame) {
    program_.columns = frame.column_count();
  }

  std::optional<KernelProblem> Run() {
    for (const NodeId node : nodes_) {
      if (!AddInputsOf(node)) return std::nullopt;
    }
    for (const NodeId node : nodes_) {
      if (!AddNode(node)) return std::nullopt;
    }
    for (const TensorId output : OutputsOf(graph_, nodes_)) {
      program_.outputs.push_back(values_.at(output));
    }
    return KernelProblem{.problem = std::move(program_), .inputs = std::move(operands_)};
  }

 private:
  // What a node reads of rows, in the order of its text: a Split's sizes are none, and neither are
  // single numbers, which are written into the text.
  std::optional<std::vector<TensorId>> RowsReadBy(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == OpKind::kSplit) return std::vector<TensorId>{node.inputs[0]};
    if (node.op == OpKind::kConcat) {
      return std::vector<TensorId>(node.inputs.begin(), node.inputs.end());
    }
    if (!HasExpression(graph_, id)) return std::nullopt;
    const std::optional<ExpressionText> text = ExpressionOf(graph_, {id}, MemoryLayout::kNchw);
    if (!text.has_value()) return std::nullopt;
    std::vector<TensorId> tensors;
    for (const OperandValue& operand : text->inputs) {
      const auto found = std::find_if(node.inputs.begin(), node.inputs.end(), [&](TensorId tensor) {
        if (tensor == kNoTensor) return false;
        return operand.constant != nullptr ? graph_.tensor(tensor).constant == operand.constant
                                           : tensor == operand.tensor;
      });
      if (found == node.inputs.end()) return std::nullopt;
      tensors.push_back(*found);
    }
    texts_[id] = text->text;
    return tensors;
  }

  bool AddInputsOf(NodeId id) {
    const std::optional<std::vector<TensorId>> tensors = RowsReadBy(id);
    if (!tensors.has_value()) return false;
    for (const TensorId tensor : *tensors) {
      const std::optional<int64_t> rows = frame_.RowsOf(graph_.type(tensor));
      // A number that is known at run time only is the same in all columns.
      if (!rows.has_value() || graph_.type(tensor).elements() != *rows * program_.columns) {
        return false;
      }
      const NodeId producer = graph_.tensor(tensor).producer;
      if (std::binary_search(nodes_.begin(), nodes_.end(), producer)) continue;
      const auto [entry, is_new] = values_.try_emplace(tensor);
      if (!is_new) continue;
      for (int64_t row = 0; row < *rows; ++row) entry->second.push_back(next_value_++);
      program_.inputs.push_back(*rows);
      operands_.push_back(OperandOf(graph_, tensor));
    }
    read_[id] = *tensors;
    return true;
  }

  bool AddNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == OpKind::kConcat) {
      std::vector<int64_t>& rows = values_[node.outputs[0]];
      for (const TensorId input : node.inputs) {
        const std::vector<int64_t>& of_input = values_.at(input);
        rows.insert(rows.end(), of_input.begin(), of_input.end());
      }
      return true;
    }
    if (node.op == OpKind::kSplit) return AddSplit(node);
    return AddSteps(id);
  }

  bool AddSplit(const Node& node) {
    const std::vector<int64_t> whole = values_.at(node.inputs[0]);
    size_t next = 0;
    for (const TensorId output : node.outputs) {
      const size_t rows = *frame_.RowsOf(graph_.type(output));
      if (next + rows > whole.size()) return false;
      values_[output].assign(whole.begin() + next, whole.begin() + next + rows);
      next += rows;
    }
    return true;
  }

  // One step for each row of the result.
  bool AddSteps(NodeId id) {
    const TensorId output = graph_.node(id).outputs[0];
    const int64_t rows = *frame_.RowsOf(graph_.type(output));
    std::vector<int64_t> results;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int64_t> values;
      for (const TensorId input : read_.at(id)) {
        const std::vector<int64_t>& of_input = values_.at(input);
        values.push_back(of_input[of_input.size() == 1 ? 0 : row]);
      }
      program_.steps.push_back(WithValues(texts_.at(id), values));
      results.push_back(next_value_++);
    }
    values_[output] = std::move(results);
    return true;
  }

  const Graph& graph_;
  const absl::Span<const NodeId> nodes_;
  const RowFrame& frame_;
  RecurrenceProblem program_;
  std::vector<OperandValue> operands_;
  int64_t next_value_ = 0;
  absl::flat_hash_map<TensorId, std::vector<int64_t>> values_;  // of its rows
  absl::flat_hash_map<NodeId, std::string> texts_;              // of those that compute
  absl::flat_hash_map<NodeId, std::vector<TensorId>> read_;
};

std::vector<std::vector<NodeId>> GroupsOfRecurrence(const Graph& graph, NodeId node) {
  std::vector<NodeId> group = GrowRecurrence(graph, node);
  if (group.empty()) return {};
  return {std::move(group)};
}

std::optional<KernelProblem> ProblemOfRecurrence(const Graph& graph, const Kernel& kernel) {
  // In channels-last the rows lie elsewhere.
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (!layout.has_value() || *layout != MemoryLayout::kNchw) return std::nullopt;
  if (!IsRecurrence(graph, kernel.nodes)) return std::nullopt;
  const std::optional<RowFrame> frame = FrameOf(graph, kernel.nodes);
  return ProgramMaker(graph, kernel.nodes, *frame).Run();
}

}  // namespace

const CudaFamily kRecurrenceFamily = {
    .name = "recurrence",
    .groups = GroupsOfRecurrence,
    .rows = PlainRow,
    .problem = ProblemOfRecurrence,
};

}  // namespace plait::cuda
