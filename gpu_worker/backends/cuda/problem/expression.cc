#include "gpu_worker/backends/cuda/problem/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

// By an example: "relu(add(x0,mul(x1,0.5)))" with two inputs is read into
//   node 0: input 0    node 1: input 1    node 2: number 0.5
//   node 3: mul(1, 2)  node 4: add(0, 3)  node 5: relu(4)
// each node behind its arguments, the root last. For the inputs 1 and -4 it evaluates to relu(1 +
// -4 * 0.5) = 0, and its source is
//   Relu((x0 + (x1 * static_cast<float>(5.000000000e-01))))
// A node that is read once per path is evaluated once per path: expressions are trees, not graphs.

namespace plait::cuda {
namespace {

// Reading and evaluating recurse, so the depth bounds the stack; texts come from files.
constexpr int kDepthMax = 64;
constexpr size_t kNodesMax = 256;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double GeluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

// Towards zero and into the range of the bits; NaN gives 0.
double Cut(double x, int bits) {
  if (std::isnan(x)) return 0;
  const double limit = std::ldexp(1.0, bits - 1);
  return std::clamp(std::trunc(x), -limit, limit - (bits == 64 ? 1024 : 1));
}

double Truth(bool x) { return x ? 1 : 0; }

// The types that a function takes and gives.
enum class Signature {
  kFloats,   // floats give a float
  kNumbers,  // several of one type that is no bool give one of it
  kCompare,  // two of one type give a bool
  kLogic,    // bools give a bool
  kChoose,   // a bool, then two of one type, give one of it
  kToFloat,  // these take any
  kToInt64,
  kToInt32,
  kToBool,
};

// One row per function keeps the reference's arithmetic and the kernel's name for it side by side.
struct Function {
  const char* name;
  int arguments;
  double (*apply)(const double* x);
  const char* source;  // the kernel language's operator or function
  Signature signature = Signature::kFloats;
  const char* integer_source = nullptr;  // of kNumbers
};

// An operator has an infix sign as its source, a function its name.
constexpr Function kFunctions[] = {
    {"add", 2, [](const double* x) { return x[0] + x[1]; }, "+", Signature::kNumbers, "Sum"},
    {"sub", 2, [](const double* x) { return x[0] - x[1]; }, "-", Signature::kNumbers, "Difference"},
    {"mul", 2, [](const double* x) { return x[0] * x[1]; }, "*", Signature::kNumbers, "Product"},
    {"div", 2, [](const double* x) { return x[0] / x[1]; }, "/"},
    {"max", 2, [](const double* x) { return Maximum(x[0], x[1]); }, "Maximum", Signature::kNumbers,
     "Larger"},
    {"min", 2, [](const double* x) { return Minimum(x[0], x[1]); }, "Minimum", Signature::kNumbers,
     "Smaller"},
    {"pow", 2, [](const double* x) { return std::pow(x[0], x[1]); }, "powf"},
    {"neg", 1, [](const double* x) { return -x[0]; }, "Negative"},
    {"exp", 1, [](const double* x) { return std::exp(x[0]); }, "expf"},
    {"log", 1, [](const double* x) { return std::log(x[0]); }, "logf"},
    {"sqrt", 1, [](const double* x) { return std::sqrt(x[0]); }, "sqrtf"},
    {"rsqrt", 1, [](const double* x) { return 1 / std::sqrt(x[0]); }, "rsqrtf"},
    {"erf", 1, [](const double* x) { return std::erf(x[0]); }, "erff"},
    {"tanh", 1, [](const double* x) { return std::tanh(x[0]); }, "tanhf"},
    {"sigmoid", 1, [](const double* x) { return Sigmoid(x[0]); }, "Sigmoid"},
    {"relu", 1, [](const double* x) { return Maximum(x[0], 0.0); }, "Relu"},
    {"silu", 1, [](const double* x) { return x[0] * Sigmoid(x[0]); }, "Silu"},
    {"gelu", 1, [](const double* x) { return Gelu(x[0]); }, "Gelu"},
    {"gelu_tanh", 1, [](const double* x) { return GeluTanh(x[0]); }, "GeluTanh"},
    {"abs", 1, [](const double* x) { return std::fabs(x[0]); }, "fabsf"},
    {"clip", 3, [](const double* x) { return Minimum(Maximum(x[0], x[1]), x[2]); }, "Clip"},
    {"equal", 2, [](const double* x) { return Truth(x[0] == x[1]); }, "==", Signature::kCompare},
    {"less", 2, [](const double* x) { return Truth(x[0] < x[1]); }, "<", Signature::kCompare},
    {"less_or_equal", 2, [](const double* x) { return Truth(x[0] <= x[1]); },
     "<=", Signature::kCompare},
    {"greater", 2, [](const double* x) { return Truth(x[0] > x[1]); }, ">", Signature::kCompare},
    {"greater_or_equal", 2, [](const double* x) { return Truth(x[0] >= x[1]); },
     ">=", Signature::kCompare},
    {"and", 2, [](const double* x) { return x[0] * x[1]; }, "&&", Signature::kLogic},
    {"or", 2, [](const double* x) { return std::fmax(x[0], x[1]); }, "||", Signature::kLogic},
    {"xor", 2, [](const double* x) { return Truth(x[0] != x[1]); }, "!=", Signature::kLogic},
    {"not", 1, [](const double* x) { return 1 - x[0]; }, "Not", Signature::kLogic},
    {"where", 3, [](const double* x) { return x[0] != 0 ? x[1] : x[2]; }, "Choose",
     Signature::kChoose},
    {"float", 1, [](const double* x) { return x[0]; }, "CastToFloat", Signature::kToFloat},
    {"int64", 1, [](const double* x) { return Cut(x[0], 64); }, "CastToInt64", Signature::kToInt64},
    {"int32", 1, [](const double* x) { return Cut(x[0], 32); }, "CastToInt32", Signature::kToInt32},
    {"bool", 1, [](const double* x) { return Truth(x[0] != 0); }, "CastToBool", Signature::kToBool},
};

// What a call gives; nullopt: it does not take these.
std::optional<ElementType> ResultOf(Signature signature, const std::vector<ElementType>& given) {
  const auto all_are = [&](size_t first, ElementType type) {
    return std::all_of(given.begin() + first, given.end(),
                       [&](ElementType other) { return other == type; });
  };
  const auto if_fits = [](bool fits, ElementType type) {
    return fits ? std::optional<ElementType>(type) : std::nullopt;
  };
  switch (signature) {
    case Signature::kFloats:
      return if_fits(all_are(0, ElementType::kFloat), ElementType::kFloat);
    case Signature::kNumbers:
      return if_fits(given[0] != ElementType::kBool && all_are(0, given[0]), given[0]);
    case Signature::kCompare:
      return if_fits(all_are(0, given[0]), ElementType::kBool);
    case Signature::kLogic:
      return if_fits(all_are(0, ElementType::kBool), ElementType::kBool);
    case Signature::kChoose:
      return if_fits(given[0] == ElementType::kBool && all_are(1, given[1]), given[1]);
    case Signature::kToFloat:
      return ElementType::kFloat;
    case Signature::kToInt64:
      return ElementType::kInt64;
    case Signature::kToInt32:
      return ElementType::kInt32;
    case Signature::kToBool:
      return ElementType::kBool;
  }
  return std::nullopt;
}

}  // namespace

double Maximum(double a, double b) { return a > b || std::isnan(a) ? a : b; }
double Minimum(double a, double b) { return a < b || std::isnan(a) ? a : b; }

// Recursive descent over the text; one use.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const std::vector<ElementType>& inputs)
      : text_(text), inputs_(inputs) {}

  Result<Expression> Read() {
    if (!ReadNode(0) || place_ != text_.size()) {
      return Error{ErrorCode::kInvalid, "expression: not understood at place " +
                                            std::to_string(place_) + " of \"" +
                                            std::string(text_.substr(0, 200)) + "\""};
    }
    return std::move(expression_);
  }

 private:
  // Returns the index of the node, or nothing.
  std::optional<int> ReadNode(int depth) {
    if (depth > kDepthMax || expression_.nodes_.size() >= kNodesMax) return std::nullopt;
    SkipSpace();
    if (place_ >= text_.size()) return std::nullopt;
    if (text_[place_] == 'x' && place_ + 1 < text_.size() && IsDigit(text_[place_ + 1])) {
      return ReadInput();
    }
    if (std::isalpha(static_cast<unsigned char>(text_[place_])) != 0) return ReadCall(depth);
    return ReadNumber();
  }

  std::optional<int> ReadInput() {
    size_t input = 0;
    const char* end = text_.data() + text_.size();
    const auto [last, error] = std::from_chars(text_.data() + place_ + 1, end, input);
    if (error != std::errc() || input >= inputs_.size()) return std::nullopt;
    place_ = last - text_.data();
    return Add({.function = -1, .input = static_cast<int>(input), .type = inputs_[input]});
  }

  std::optional<int> ReadNumber() {
    double number = 0;
    const char* end = text_.data() + text_.size();
    const auto [last, error] = std::from_chars(text_.data() + place_, end, number);
    // Infinity and NaN have no literal in the kernel language.
    if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
    place_ = last - text_.data();
    return Add({.function = -2, .number = number});
  }

  std::optional<int> ReadCall(int depth) {
    const size_t start = place_;
    const auto in_name = [](char c) { return std::islower(c) || c == '_' || IsDigit(c); };
    while (place_ < text_.size() && in_name(text_[place_])) ++place_;
    const std::string_view name = text_.substr(start, place_ - start);
    Expression::Node node;
    for (size_t f = 0; f < std::size(kFunctions); ++f) {
      if (name == kFunctions[f].name) node.function = static_cast<int>(f);
    }
    // An unknown name is reported at the place behind it.
    if (node.function < 0) return std::nullopt;
    for (int a = 0; a < kFunctions[node.function].arguments; ++a) {
      if (!Skip(a == 0 ? '(' : ',')) return std::nullopt;
      const std::optional<int> argument = ReadNode(depth + 1);
      if (!argument) return std::nullopt;
      node.arguments.push_back(*argument);
    }
    if (!Skip(')')) return std::nullopt;
    std::vector<ElementType> given;
    for (const int argument : node.arguments) given.push_back(expression_.nodes_[argument].type);
    const std::optional<ElementType> type = ResultOf(kFunctions[node.function].signature, given);
    if (!type) return std::nullopt;
    node.type = *type;
    return Add(std::move(node));
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  void SkipSpace() {
    while (place_ < text_.size() && text_[place_] == ' ') ++place_;
  }

  bool Skip(char expected) {
    SkipSpace();
    if (place_ >= text_.size() || text_[place_] != expected) return false;
    ++place_;
    SkipSpace();
    return true;
  }

  int Add(Expression::Node node) {
    expression_.nodes_.push_back(std::move(node));
    return static_cast<int>(expression_.nodes_.size()) - 1;
  }

  std::string_view text_;
  const std::vector<ElementType>& inputs_;
  size_t place_ = 0;
  Expression expression_;
};

Result<Expression> Expression::Parse(std::string_view text, size_t inputs) {
  return Parse(text, std::vector<ElementType>(inputs, ElementType::kFloat));
}

Result<Expression> Expression::Parse(std::string_view text,
                                     const std::vector<ElementType>& inputs) {
  return ExpressionReader(text, inputs).Read();
}

Result<Expression> Expression::Of(const ElementwiseProblem& p) {
  return p.input_types.empty() ? Parse(p.expression, p.inputs.size())
                               : Parse(p.expression, p.input_types);
}

ElementType Expression::type() const { return nodes_.back().type; }

bool Expression::is_of_floats() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    const bool converts =
        node.function >= 0 && kFunctions[node.function].signature == Signature::kToFloat;
    return node.type == ElementType::kFloat && !converts;
  });
}

double Expression::Evaluate(const std::vector<double>& inputs) const {
  return EvaluateNode(static_cast<int>(nodes_.size()) - 1, inputs);
}

double Expression::EvaluateNode(int index, const std::vector<double>& inputs) const {
  const Node& node = nodes_[index];
  if (node.function == -1) return inputs[node.input];
  if (node.function == -2) return node.number;
  // 3: clip and where have the most arguments.
  double values[3] = {};
  for (size_t a = 0; a < node.arguments.size(); ++a) {
    values[a] = EvaluateNode(node.arguments[a], inputs);
  }
  return kFunctions[node.function].apply(values);
}

std::string Expression::Source() const { return NodeSource(static_cast<int>(nodes_.size()) - 1); }

std::string Expression::NodeSource(int index) const {
  const Node& node = nodes_[index];
  if (node.function == -1) return "x" + std::to_string(node.input);
  if (node.function == -2) {
    char text[40];
    // Ten digits in all; nine name a float uniquely.
    std::snprintf(text, sizeof(text), "%.9e", node.number);
    return std::string("static_cast<float>(") + text + ")";
  }
  const Function& function = kFunctions[node.function];
  const bool of_integers =
      function.signature == Signature::kNumbers && node.type != ElementType::kFloat;
  const std::string source = of_integers ? function.integer_source : function.source;
  // The names of functions begin with a letter, operators do not.
  const bool infix = std::isalpha(static_cast<unsigned char>(source[0])) == 0;
  std::string text = infix ? "(" : source + "(";
  for (size_t a = 0; a < node.arguments.size(); ++a) {
    if (a > 0) text += infix ? " " + source + " " : ", ";
    text += NodeSource(node.arguments[a]);
  }
  return text + ")";
}

std::vector<int> Expression::InputsRead() const {
  std::vector<int> inputs;
  for (const Node& node : nodes_) {
    if (node.function == -1) inputs.push_back(node.input);
  }
  return inputs;
}

int Expression::operations() const {
  int count = 0;
  for (const Node& node : nodes_) count += node.function >= 0;
  return count;
}

bool Expression::needs_positive_inputs() const {
  for (const Node& node : nodes_) {
    if (node.function < 0) continue;
    const std::string_view name = kFunctions[node.function].name;
    if (name == "log" || name == "sqrt" || name == "rsqrt" || name == "pow" || name == "div") {
      return true;
    }
  }
  return false;
}

Result<std::vector<Expression>> StepsOf(const RecurrenceProblem& p) {
  size_t values = 0;
  for (const int64_t rows : p.inputs) values += static_cast<size_t>(rows);
  std::vector<Expression> steps;
  for (const std::string& text : p.steps) {
    Result<Expression> step = Expression::Parse(text, values++);
    if (!step.ok()) return step.error();
    if (step.value().type() != ElementType::kFloat) {
      return Error{ErrorCode::kInvalid, "recurrence: a step gives no float"};
    }
    steps.push_back(std::move(step).value());
  }
  return steps;
}

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return Maximum(x, 0.0);
    case Activation::kRelu6:
      return Minimum(Maximum(x, 0.0), 6.0);
    case Activation::kGelu:
      return Gelu(x);
    case Activation::kGeluTanh:
      return GeluTanh(x);
    case Activation::kSilu:
      return x * Sigmoid(x);
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kTanh:
      return std::tanh(x);
  }
  return x;
}

const char* ActivationFunction(Activation activation) {
  static constexpr const char* kNames[] = {"",         "Relu", "Relu6",   "Gelu",
                                           "GeluTanh", "Silu", "Sigmoid", "tanhf"};
  return kNames[static_cast<int>(activation)];
}

}  // namespace plait::cuda
