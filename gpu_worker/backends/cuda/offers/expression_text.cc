#include "gpu_worker/backends/cuda/offers/expression_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/offers/scale_shift_constants.h"
#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/elementwise_ops.h"

// Mul(Add(x, [0.5]), Sigmoid(y)) is mul(add(x0,0.5),sigmoid(x1)).

namespace plait::cuda {
namespace {

// Longer texts are not worth a kernel: Expression::Parse takes 256 nodes.
constexpr size_t kTextBytesMax = 4096;

// The function that converts to a type; empty where there is none.
absl::string_view ConversionTo(DataType dtype) {
  const std::optional<ElementType> type = ElementTypeOf(dtype);
  static constexpr const char* kNames[] = {"float", "int64", "int32", "bool"};
  return type.has_value() ? kNames[static_cast<int>(*type)] : "";
}

// The function of an operator that is one; empty for all others.
absl::string_view FunctionOf(const Node& node) {
  switch (node.op) {
    case OpKind::kAbs:
      return "abs";
    case OpKind::kAdd:
    case OpKind::kSum:
      return "add";
    case OpKind::kAnd:
      return "and";
    case OpKind::kCast:
      return ConversionTo(static_cast<DataType>(node.attributes->Int("to", 0)));
    case OpKind::kDiv:
      return "div";
    case OpKind::kEqual:
      return "equal";
    case OpKind::kErf:
      return "erf";
    case OpKind::kExp:
      return "exp";
    case OpKind::kGelu:
      return UnaryParametersOf(node).alpha == 1 ? "gelu_tanh" : "gelu";
    case OpKind::kGreater:
      return "greater";
    case OpKind::kGreaterOrEqual:
      return "greater_or_equal";
    case OpKind::kLess:
      return "less";
    case OpKind::kLessOrEqual:
      return "less_or_equal";
    case OpKind::kLog:
      return "log";
    case OpKind::kMax:
      return "max";
    case OpKind::kMin:
      return "min";
    case OpKind::kMul:
      return "mul";
    case OpKind::kNeg:
      return "neg";
    case OpKind::kNot:
      return "not";
    case OpKind::kOr:
      return "or";
    case OpKind::kPow:
      return "pow";
    case OpKind::kRelu:
      return "relu";
    case OpKind::kSigmoid:
      return "sigmoid";
    case OpKind::kSqrt:
      return "sqrt";
    case OpKind::kSub:
      return "sub";
    case OpKind::kTanh:
      return "tanh";
    case OpKind::kWhere:
      return "where";
    case OpKind::kXor:
      return "xor";
    default:
      return "";
  }
}

// Operators that are written as several functions, and those of which the arguments are special.
bool IsComposed(OpKind op) {
  switch (op) {
    case OpKind::kBatchNormalization:
    case OpKind::kClip:
    case OpKind::kHardSigmoid:
    case OpKind::kHardSwish:
    case OpKind::kLeakyRelu:
    case OpKind::kPRelu:
    case OpKind::kReciprocal:
    case OpKind::kSwish:
      return true;
    default:
      return false;
  }
}

// The shortest decimal that reads back as the same float.
std::string NumberText(float value) {
  for (const int digits : {1, 2, 3, 4, 5, 6, 7, 8}) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    float read = 0;
    if (absl::SimpleAtof(text, &read) && read == value) return text;
  }
  return absl::StrFormat("%.9g", value);
}

class Writer {
 public:
  Writer(const Graph& graph, absl::Span<const NodeId> nodes, MemoryLayout layout)
      : graph_(graph), nodes_(nodes), layout_(layout) {}

  std::optional<ExpressionText> Run() {
    result_.text = NodeText(nodes_.back());
    // Nodes that the last one does not read would have results of their own.
    const bool is_whole = std::all_of(nodes_.begin(), nodes_.end(), [&](NodeId node) {
      return std::find(written_.begin(), written_.end(), node) != written_.end();
    });
    if (!fits_ || !is_whole || result_.text.size() > kTextBytesMax) return std::nullopt;
    const bool all_floats = std::all_of(result_.types.begin(), result_.types.end(),
                                        [](auto type) { return type == ElementType::kFloat; });
    if (all_floats) result_.types.clear();
    return std::move(result_);
  }

 private:
  std::string NodeText(NodeId id) {
    written_.push_back(id);
    // Each value may be written several times: exponentially often where that goes on.
    if (written_.size() > 8 * kElementwiseNodesMax) fits_ = false;
    if (!fits_ || !HasExpression(graph_, id)) {
      fits_ = false;
      return "";
    }
    const Node& node = graph_.node(id);
    if (IsComposed(node.op)) return ComposedText(id);
    std::string text = Argument(node.inputs[0]);
    const absl::string_view function = FunctionOf(node);
    if (node.op == OpKind::kWhere) {
      return absl::StrCat(function, "(", text, ",", Argument(node.inputs[1]), ",",
                          Argument(node.inputs[2]), ")");
    }
    if (node.inputs.size() == 1) return absl::StrCat(function, "(", text, ")");
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      text = absl::StrCat(function, "(", text, ",", Argument(node.inputs[i]), ")");
    }
    return text;
  }

  std::string ComposedText(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string x = Argument(node.inputs[0]);
    const UnaryParameters parameters = UnaryParametersOf(node);
    const std::string alpha = NumberText(parameters.alpha), beta = NumberText(parameters.beta);
    switch (node.op) {
      case OpKind::kClip:
        return ClipText(node, x);
      case OpKind::kHardSigmoid:
        return absl::StrCat("clip(add(mul(", x, ",", alpha, "),", beta, "),0,1)");
      case OpKind::kHardSwish:
        return absl::StrCat("mul(", x, ",clip(add(mul(", x, ",0.16666667),0.5),0,1))");
      case OpKind::kLeakyRelu:
        return absl::StrCat("sub(relu(", x, "),mul(", alpha, ",relu(neg(", x, "))))");
      case OpKind::kPRelu:
        return absl::StrCat("sub(relu(", x, "),mul(", Argument(node.inputs[1]), ",relu(neg(", x,
                            "))))");
      case OpKind::kReciprocal:
        return absl::StrCat("div(1,", x, ")");
      case OpKind::kSwish:
        return parameters.alpha == 1
                   ? absl::StrCat("silu(", x, ")")
                   : absl::StrCat("mul(", x, ",sigmoid(mul(", x, ",", alpha, ")))");
      default:
        return NormalizationText(id, x);
    }
  }

  std::string ClipText(const Node& node, const std::string& x) {
    const bool has_low = node.inputs.size() > 1 && node.inputs[1] != kNoTensor;
    const bool has_high = node.inputs.size() > 2 && node.inputs[2] != kNoTensor;
    if (has_low && has_high) {
      return absl::StrCat("clip(", x, ",", Argument(node.inputs[1]), ",", Argument(node.inputs[2]),
                          ")");
    }
    if (has_low) return absl::StrCat("max(", x, ",", Argument(node.inputs[1]), ")");
    return has_high ? absl::StrCat("min(", x, ",", Argument(node.inputs[2]), ")") : x;
  }

  std::string NormalizationText(NodeId id, const std::string& x) {
    const std::optional<ScaleShiftConstants> constants = NormalizationAt(graph_, id);
    if (!constants.has_value()) {
      fits_ = false;
      return "";
    }
    std::vector<int64_t> sizes(graph_.output_type(id).rank() - 1, 1);
    sizes[0] = graph_.output_type(id).shape[1];
    const std::string scale = InputText(OperandOf(constants->scale), sizes);
    return absl::StrCat("add(mul(", x, ",", scale, "),",
                        InputText(OperandOf(constants->shift), sizes), ")");
  }

  std::string Argument(TensorId tensor) {
    if (tensor == kNoTensor) {
      fits_ = false;
      return "";
    }
    const NodeId producer = graph_.tensor(tensor).producer;
    if (std::binary_search(nodes_.begin(), nodes_.end(), producer)) return NodeText(producer);
    const ConstantRef& constant = graph_.tensor(tensor).constant;
    const Tensor* const value = constant == nullptr ? nullptr : constant->inline_value();
    const TensorType& type = graph_.type(tensor);
    if (value != nullptr && type.dtype == DataType::kFloat32 && value->elements() == 1 &&
        std::isfinite(value->at<float>(0))) {
      return NumberText(value->at<float>(0));
    }
    // Of three axes channels-last says nothing, though the result has four.
    if (layout_ == MemoryLayout::kNhwc && type.rank() == 3 && type.shape[0] != 1 &&
        type.shape[1] * type.shape[2] != 1) {
      fits_ = false;
    }
    return InputText(OperandOf(graph_, tensor, layout_), SizesOf(type), *ElementTypeOf(type.dtype));
  }

  std::string InputText(OperandValue operand, std::vector<int64_t> sizes,
                        ElementType type = ElementType::kFloat) {
    const auto is_same = [&](const OperandValue& other) {
      return other.tensor == operand.tensor && other.constant == operand.constant;
    };
    const auto found = std::find_if(result_.inputs.begin(), result_.inputs.end(), is_same);
    const size_t index = found - result_.inputs.begin();
    if (found == result_.inputs.end()) {
      result_.inputs.push_back(std::move(operand));
      result_.sizes.push_back(std::move(sizes));
      result_.types.push_back(type);
    }
    return absl::StrCat("x", index);
  }

  const Graph& graph_;
  const absl::Span<const NodeId> nodes_;
  const MemoryLayout layout_;
  bool fits_ = true;
  std::vector<NodeId> written_;
  ExpressionText result_;
};

}  // namespace

bool HasExpression(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (FunctionOf(node).empty() && !IsComposed(node.op)) return false;
  if (!IsElementwise(graph, id)) return false;
  const auto has_type = [&](TensorId tensor) {
    return tensor == kNoTensor || ElementTypeOf(graph.type(tensor).dtype).has_value();
  };
  if (!has_type(node.outputs[0]) ||
      !std::all_of(node.inputs.begin(), node.inputs.end(), has_type)) {
    return false;
  }
  // No integers are divided: the reference gives 0 for what has no quotient.
  return node.op != OpKind::kDiv || graph.output_type(id).dtype == DataType::kFloat32;
}

std::optional<ExpressionText> ExpressionOf(const Graph& graph, absl::Span<const NodeId> nodes,
                                           MemoryLayout layout) {
  if (OutputsOf(graph, nodes).size() != 1) return std::nullopt;
  return Writer(graph, nodes, layout).Run();
}

}  // namespace plait::cuda
