#include "optimizer/rules/laws/law_pattern.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "optimizer/rules/laws/bind_law.h"

// The source of x y + x z = x (y + z) is
//
//   %t0 = MatMul(%x, %y)
//   %t1 = MatMul(%x, %z)
//   %t2 = Add(%t0, %t1)
//
// From %t2 everything else is a producer of what is known, and there is one of each: the Add is the
// root. Were %t1 an output and no Add there, the root would be a MatMul, and the other one some
// reader of %x.

namespace plait {
namespace {

absl::Status CannotBe(const Law& law, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("law ", law.name, " is no rule: ", why));
}

bool IsElementwise(OpKind op) {
  return op == OpKind::kAdd || op == OpKind::kMul || op == OpKind::kRelu;
}

bool IsElementwise(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return IsElementwise(node.op); });
}

bool Applies(const Graph& graph, OpKind op) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Node& node) { return node.op == op; });
}

bool IsKnown(OpKind op) {
  switch (op) {
    case OpKind::kConv:
    case OpKind::kMatMul:
    case OpKind::kAveragePool:
    case OpKind::kTranspose:
    case OpKind::kSplit:
    case OpKind::kConcat:
    case OpKind::kPad:
      return true;
    default:
      return IsElementwise(op);
  }
}

// Rare ones first: a root is tried at every node that applies its operator.
int Frequency(OpKind op) {
  constexpr OpKind kByFrequency[] = {OpKind::kTranspose, OpKind::kSplit, OpKind::kAveragePool,
                                     OpKind::kConcat,    OpKind::kPad,   OpKind::kMul,
                                     OpKind::kMatMul,    OpKind::kConv,  OpKind::kAdd};
  const auto* const place = std::find(std::begin(kByFrequency), std::end(kByFrequency), op);
  return static_cast<int>(place - std::begin(kByFrequency));
}

// Constants are the sizes of a Split and the pads of a Pad.
bool HasConstantsInPlace(const Graph& graph, const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool may_be = i == 1 && (node.op == OpKind::kSplit || node.op == OpKind::kPad);
    if (node.inputs[i] == kNoTensor) return false;
    if ((graph.tensor(node.inputs[i]).constant != nullptr) != may_be) return false;
  }
  return true;
}

// What the target does that only the source can say how.
absl::Status CheckMeaning(const Law& law) {
  for (const OpKind op : {OpKind::kRelu, OpKind::kConv, OpKind::kAveragePool}) {
    const bool is_variable = op == OpKind::kRelu || law.any_window;
    if (is_variable && Applies(law.target, op) && !Applies(law.source, op)) {
      return CannotBe(law, absl::StrCat("its source has no ", OpKindName(op), ", its target has"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const Law& law) {
  for (const Graph* graph : {&law.source, &law.target}) {
    if (graph->node_count() > kLawPartsMax ||
        graph->inputs().size() + graph->outputs().size() > size_t{kLawPartsMax}) {
      return CannotBe(law, absl::StrCat("a side has more than ", kLawPartsMax, " parts"));
    }
    for (const Node& node : graph->nodes()) {
      if (!IsKnown(node.op)) return CannotBe(law, absl::StrCat("it has ", OpKindName(node.op)));
      if (!HasConstantsInPlace(*graph, node)) return CannotBe(law, "it has constants as operands");
    }
    const std::set<TensorId> outputs(graph->outputs().begin(), graph->outputs().end());
    if (outputs.size() != graph->outputs().size()) return CannotBe(law, "an output is there twice");
  }
  for (const TensorId output : law.source.outputs()) {
    if (law.source.tensor(output).producer == kNoNode) {
      return CannotBe(law, "its source has an output that no operator makes");
    }
  }
  for (const TensorId input : law.target.inputs()) {
    const size_t place = static_cast<size_t>(input);
    const bool is_read = !law.target.users(input).empty() || law.target.is_output(input);
    if (is_read && law.source.users(law.source.inputs()[place]).empty()) {
      return CannotBe(law, "its source does not read all that its target needs");
    }
  }
  return absl::OkStatus();
}

// Ranks: matrices, whose laws hold for each of many as well, or images.
absl::Status CheckRanks(const Law& law) {
  const int rank = law.source.inputs().empty() ? 0 : law.source.type(0).rank();
  if (rank != 2 && rank != 4) return CannotBe(law, "its inputs are neither matrices nor images");
  for (const Graph* graph : {&law.source, &law.target}) {
    for (const TensorInfo& tensor : graph->tensors()) {
      if (tensor.constant != nullptr) {
        const Tensor* value = tensor.constant->inline_value();
        if (value == nullptr || value->type().dtype != DataType::kInt64) {
          return CannotBe(law, "it has constants that are no sizes");
        }
      } else if (tensor.type.rank() != rank || tensor.type.dtype != DataType::kFloat32) {
        return CannotBe(law, "its tensors are not all float32 of one rank");
      }
    }
  }
  return absl::OkStatus();
}

std::set<int64_t> SizesOf(const Graph& graph, bool with_inputs) {
  std::set<int64_t> sizes;
  for (const TensorId input : graph.inputs()) {
    if (!with_inputs || graph.users(input).empty()) continue;
    for (const int64_t size : graph.type(input).shape) sizes.insert(size);
  }
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (graph.node(node).op != OpKind::kSplit) continue;
    const Tensor* parts = graph.inline_constant(node, 1);
    if (parts == nullptr) continue;
    for (const int64_t size : parts->AsInt64s()) sizes.insert(size);
  }
  return sizes;
}

absl::Status CheckSizes(const Law& law) {
  const std::set<int64_t> known = SizesOf(law.source, true);
  for (const int64_t size : SizesOf(law.target, false)) {
    if (IsVariableSize(size) && known.count(size) == 0) {
      return CannotBe(law, absl::StrCat("its source does not say the size ", size));
    }
  }
  return absl::OkStatus();
}

// All other nodes as they are reached from `root`, as few as can be as readers of something; empty
// when there are some that cannot.
std::vector<LawPattern::Visit> VisitsFrom(const Graph& source, NodeId root) {
  std::vector<bool> is_known(source.tensor_count(), false);
  std::vector<bool> is_visited(source.node_count(), false);
  const auto know = [&](NodeId node) {
    is_visited[node] = true;
    for (const TensorId input : source.node(node).inputs) is_known[input] = true;
    for (const TensorId output : source.node(node).outputs) is_known[output] = true;
  };
  know(root);
  std::vector<LawPattern::Visit> visits;
  const auto next = [&](bool is_reader) {
    for (NodeId node = 0; node < source.node_count(); ++node) {
      if (is_visited[node]) continue;
      const Node& made = source.node(node);
      const auto& tensors =
          is_reader ? absl::MakeConstSpan(made.inputs) : absl::MakeConstSpan(made.outputs);
      for (const TensorId tensor : tensors) {
        const bool is_constant = source.tensor(tensor).constant != nullptr;
        if (!is_known[tensor] || is_constant) continue;
        visits.push_back({node, tensor, is_reader});
        know(node);
        return true;
      }
    }
    return false;
  };
  while (next(false) || next(true)) {
  }
  if (static_cast<int>(visits.size()) + 1 < source.node_count()) visits.clear();
  return visits;
}

absl::Status ChooseRoot(LawPattern* pattern) {
  const Graph& source = pattern->law.source;
  std::pair<int64_t, int> least{kLawPartsMax + 1, 0};
  for (NodeId node = 0; node < source.node_count(); ++node) {
    if (source.node(node).op == OpKind::kRelu) continue;
    std::vector<LawPattern::Visit> visits = VisitsFrom(source, node);
    if (static_cast<int>(visits.size()) + 1 < source.node_count()) continue;
    const int64_t readers = std::count_if(visits.begin(), visits.end(),
                                          [](const auto& visit) { return visit.is_reader; });
    const std::pair<int64_t, int> price{readers, Frequency(source.node(node).op)};
    if (price >= least) continue;
    least = price;
    pattern->root = node;
    pattern->visits = std::move(visits);
  }
  if (pattern->root != kNoNode) return absl::OkStatus();
  return CannotBe(pattern->law, "its source is not connected, or has nothing but functions");
}

// Where the source is found in itself, its inputs are in another order.
void FindSymmetries(LawPattern* pattern) {
  const Graph& source = pattern->law.source;
  const auto inputs = source.inputs();
  std::set<std::vector<int>> orders;
  for (NodeId node = 0; node < source.node_count(); ++node) {
    if (source.node(node).op != source.node(pattern->root).op) continue;
    for (const LawBinding& binding : BindLaw(*pattern, source, node)) {
      const std::set<NodeId> nodes(binding.nodes.begin(), binding.nodes.end());
      if (static_cast<int>(nodes.size()) < source.node_count()) continue;
      std::vector<int> order;
      for (const TensorId input : inputs) {
        const auto* const place = std::find(inputs.begin(), inputs.end(), binding.tensors[input]);
        order.push_back(static_cast<int>(place - inputs.begin()));
      }
      if (std::is_sorted(order.begin(), order.end())) continue;
      if (*std::max_element(order.begin(), order.end()) < static_cast<int>(inputs.size())) {
        orders.insert(std::move(order));
      }
    }
  }
  pattern->symmetries.assign(orders.begin(), orders.end());
}

}  // namespace

std::string LawId(const Law& law) {
  return FingerprintBuilder()
      .Add(PrintGraph(law.source))
      .Add(PrintGraph(law.target))
      .Add(law.any_window)
      .Finish()
      .ToString()
      .substr(0, 12);
}

absl::StatusOr<LawPattern> PatternOf(Law law) {
  PLAIT_RETURN_IF_ERROR(CheckParts(law));
  PLAIT_RETURN_IF_ERROR(CheckMeaning(law));
  PLAIT_RETURN_IF_ERROR(CheckRanks(law));
  PLAIT_RETURN_IF_ERROR(CheckSizes(law));
  LawPattern pattern;
  pattern.id = LawId(law);
  pattern.law = std::move(law);
  pattern.is_elementwise = IsElementwise(pattern.law.source) && IsElementwise(pattern.law.target);
  PLAIT_RETURN_IF_ERROR(ChooseRoot(&pattern));
  FindSymmetries(&pattern);
  return pattern;
}

}  // namespace plait
