#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "optimizer/ir/text_scanner.h"
#include "optimizer/ir/value_text.h"

namespace plait {
namespace {

// 65,536 outputs of one node: far beyond any Split; bounds what shape inference is asked for.
constexpr size_t kNodeOutputsMax = 65'536;

// One statement per line, read from left to right without looking back: recursive descent with the
// line's scanner as its only state, and four stages for what may stand where. A text may come from
// anyone, so each list is bounded before it grows, no name is used before it is defined (which also
// makes nodes topological), and types are believed only when they were inferred.
class GraphParser {
 public:
  explicit GraphParser(const InferFunction& infer) : infer_(infer) {}

  absl::StatusOr<Graph> Parse(absl::string_view text) {
    int line_number = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_number;
      const absl::Status status = ParseLine(line);
      if (!status.ok()) return Annotate(status, absl::StrCat("line ", line_number));
    }
    if (stage_ != Stage::kClosed) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number, ": the text ends before the graph's '}'"));
    }
    return std::move(builder_).Finish();
  }

 private:
  enum class Stage { kStart, kBody, kOutputs, kClosed };

  // One side of "%a: float32[1], _, %b".
  struct Output {
    std::string name;  // empty when omitted
    std::optional<TensorType> type;
  };

  absl::Status ParseLine(absl::string_view line) {
    TextScanner scanner(line);
    if (scanner.AtEnd() || scanner.Sees("#")) return absl::OkStatus();
    PLAIT_RETURN_IF_ERROR(ParseStatement(&scanner));
    return scanner.ExpectEnd();
  }

  absl::Status ParseStatement(TextScanner* scanner) {
    switch (stage_) {
      case Stage::kStart:
        stage_ = Stage::kBody;
        PLAIT_RETURN_IF_ERROR(scanner->Expect("graph"));
        return scanner->Expect("{");
      case Stage::kBody:
        if (scanner->Consume("input ")) return ParseInput(scanner);
        if (scanner->Consume("const ")) return ParseConstant(scanner);
        if (!scanner->Consume("output")) return ParseNode(scanner);
        stage_ = Stage::kOutputs;
        return ParseOutputs(scanner);
      case Stage::kOutputs:
        stage_ = Stage::kClosed;
        return scanner->Expect("}");
      case Stage::kClosed:
        return scanner->ExpectEnd();
    }
    return absl::InternalError("unknown stage");
  }

  absl::StatusOr<std::string> ParseNewName(TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect("%"));
    PLAIT_ASSIGN_OR_RETURN(std::string name, scanner->Name());
    // The builder numbers tensors as they come, so the id is filled in by whoever adds the tensor.
    if (!tensors_.try_emplace(name, kNoTensor).second) {
      return absl::InvalidArgumentError(absl::StrCat("%", name, " is defined twice"));
    }
    return name;
  }

  absl::StatusOr<TensorId> ParseUse(TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect("%"));
    PLAIT_ASSIGN_OR_RETURN(const std::string name, scanner->Name());
    const auto found = tensors_.find(name);
    if (found == tensors_.end() || found->second == kNoTensor) {
      return absl::InvalidArgumentError(absl::StrCat("%", name, " is read before it is defined"));
    }
    return found->second;
  }

  // "(%a, _, %b)"
  absl::StatusOr<absl::InlinedVector<TensorId, 4>> ParseArguments(TextScanner* scanner) {
    absl::InlinedVector<TensorId, 4> arguments;
    PLAIT_RETURN_IF_ERROR(scanner->Expect("("));
    while (!scanner->Consume(")")) {
      if (!arguments.empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
      if (scanner->Consume("_")) {
        arguments.push_back(kNoTensor);
        continue;
      }
      PLAIT_ASSIGN_OR_RETURN(const TensorId argument, ParseUse(scanner));
      arguments.push_back(argument);
    }
    return arguments;
  }

  absl::StatusOr<OpKind> ParseOp(TextScanner* scanner) {
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view word, scanner->Word());
    const std::optional<OpKind> op = OpKindFromName(word);
    if (op.has_value()) return *op;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", word.substr(0, 40), "\" is not an operator"));
  }

  absl::StatusOr<Attributes> ParseOptionalAttributes(TextScanner* scanner) {
    if (!scanner->Sees("{")) return Attributes();
    return ParseAttributes(scanner);
  }

  absl::Status ParseInput(TextScanner* scanner) {
    PLAIT_ASSIGN_OR_RETURN(const std::string name, ParseNewName(scanner));
    PLAIT_RETURN_IF_ERROR(scanner->Expect(":"));
    PLAIT_ASSIGN_OR_RETURN(TensorType type, ParseType(scanner));
    tensors_[name] = builder_.AddInput(std::move(type), name);
    return absl::OkStatus();
  }

  absl::Status ParseConstant(TextScanner* scanner) {
    PLAIT_ASSIGN_OR_RETURN(const std::string name, ParseNewName(scanner));
    PLAIT_RETURN_IF_ERROR(scanner->Expect(":"));
    PLAIT_ASSIGN_OR_RETURN(TensorType type, ParseType(scanner));
    PLAIT_RETURN_IF_ERROR(scanner->Expect("="));
    PLAIT_ASSIGN_OR_RETURN(ConstantRef constant, ParseConstantValue(std::move(type), scanner));
    tensors_[name] = builder_.AddConstant(std::move(constant), name);
    return absl::OkStatus();
  }

  absl::StatusOr<ConstantRef> ParseConstantValue(TensorType type, TextScanner* scanner) {
    if (scanner->Consume("weight ")) return ParseWeight(std::move(type), scanner);
    if (scanner->Consume("synthetic ")) {
      PLAIT_ASSIGN_OR_RETURN(const absl::string_view word, scanner->Word());
      uint64_t seed = 0;
      if (!absl::SimpleAtoi(word, &seed)) {
        return absl::InvalidArgumentError("a seed must be an unsigned 64-bit integer");
      }
      return Constant::OfSynthetic(std::move(type), seed);
    }
    if (scanner->Sees("[") || scanner->Sees("raw ")) {
      PLAIT_ASSIGN_OR_RETURN(Tensor value, ParseTensor(type, scanner));
      return Constant::OfTensor(std::move(value));
    }
    return ParseExpression(std::move(type), scanner);
  }

  // The digest carries a size; one that is not the type's would be found only when the weight is
  // read.
  absl::StatusOr<ConstantRef> ParseWeight(TensorType type, TextScanner* scanner) {
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view word, scanner->Word());
    PLAIT_ASSIGN_OR_RETURN(Digest digest, Digest::Parse(word));
    if (BytesOf(type.dtype) > 0 && digest.size_bytes != type.bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("a ", type.ToString(), " has ", type.bytes(),
                                                     " bytes, its weight has ", digest.size_bytes));
    }
    return Constant::OfWeight(std::move(type), std::move(digest));
  }

  // "Mul(%w, %f) {}", for expressions over constants only. Deep ones are refused, because they are
  // destroyed recursively.
  absl::StatusOr<ConstantRef> ParseExpression(TensorType type, TextScanner* scanner) {
    Constant::Apply apply;
    PLAIT_ASSIGN_OR_RETURN(apply.op, ParseOp(scanner));
    PLAIT_ASSIGN_OR_RETURN(const auto arguments, ParseArguments(scanner));
    PLAIT_ASSIGN_OR_RETURN(Attributes attributes, ParseOptionalAttributes(scanner));
    if (scanner->Consume("output ")) {
      PLAIT_ASSIGN_OR_RETURN(const int64_t index, scanner->Integer(0, kNodeOutputsMax - 1));
      apply.output_index = static_cast<int>(index);
    }
    apply.attributes = MakeAttributes(std::move(attributes));
    int depth = 0;
    for (TensorId argument : arguments) {
      ConstantRef input = argument == kNoTensor ? nullptr : builder_.tensor(argument).constant;
      if (argument != kNoTensor && input == nullptr) {
        return absl::InvalidArgumentError("a constant may read constants only");
      }
      if (input != nullptr) depth = std::max(depth, input->depth());
      apply.inputs.push_back(std::move(input));
    }
    if (depth >= kConstantDepthMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a constant nests at most ", kConstantDepthMax, " operators"));
    }
    const auto inferred = Infer(apply.op, *apply.attributes, arguments, apply.output_index + 1);
    PLAIT_ASSIGN_OR_RETURN(type, Agree(inferred, apply.op, apply.output_index, std::move(type)));
    return std::make_shared<const Constant>(std::move(type), std::move(apply));
  }

  absl::StatusOr<std::vector<Output>> ParseResults(TextScanner* scanner) {
    std::vector<Output> outputs;
    do {
      if (outputs.size() == kNodeOutputsMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("a node has at most ", kNodeOutputsMax, " outputs"));
      }
      Output& output = outputs.emplace_back();
      if (scanner->Consume("_")) continue;
      PLAIT_ASSIGN_OR_RETURN(output.name, ParseNewName(scanner));
      if (!scanner->Consume(":")) continue;
      PLAIT_ASSIGN_OR_RETURN(output.type, ParseType(scanner));
    } while (scanner->Consume(","));
    return outputs;
  }

  // "%y: float32[1,8] = Relu(%x) {} @name"
  absl::Status ParseNode(TextScanner* scanner) {
    if (++node_count_ > kModelNodesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a graph has at most ", kModelNodesMax, " nodes"));
    }
    PLAIT_ASSIGN_OR_RETURN(std::vector<Output> outputs, ParseResults(scanner));
    PLAIT_RETURN_IF_ERROR(scanner->Expect("="));
    Node node;
    PLAIT_ASSIGN_OR_RETURN(node.op, ParseOp(scanner));
    PLAIT_ASSIGN_OR_RETURN(node.inputs, ParseArguments(scanner));
    PLAIT_ASSIGN_OR_RETURN(Attributes attributes, ParseOptionalAttributes(scanner));
    node.attributes = MakeAttributes(std::move(attributes));
    if (scanner->Consume("@")) {
      PLAIT_ASSIGN_OR_RETURN(std::string name, scanner->Name());
      node.name = std::make_shared<const std::string>(std::move(name));
    }

    const auto inferred =
        Infer(node.op, *node.attributes, node.inputs, static_cast<int>(outputs.size()));
    std::vector<TensorType> types;
    std::vector<std::string> names;
    absl::InlinedVector<bool, 4> omitted;
    for (size_t i = 0; i < outputs.size(); ++i) {
      omitted.push_back(outputs[i].name.empty());
      // What is omitted may have any type.
      if (omitted.back()) outputs[i].type = TensorType();
      PLAIT_ASSIGN_OR_RETURN(types.emplace_back(), Agree(inferred, node.op, static_cast<int>(i),
                                                         std::move(outputs[i].type)));
      names.push_back(std::move(outputs[i].name));
    }
    const std::vector<TensorId> ids = builder_.AddNode(std::move(node), types, names, omitted);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != kNoTensor) tensors_[names[i]] = ids[i];
    }
    return absl::OkStatus();
  }

  // The type of one output: the one given, which must agree with the inferred one. What the
  // operator's shape rule does not understand is taken as given.
  absl::StatusOr<TensorType> Agree(const absl::StatusOr<std::vector<TensorType>>& inferred,
                                   OpKind op, int index, std::optional<TensorType> given) {
    const std::string place = absl::StrCat("output ", index, " of ", OpKindName(op));
    if (!inferred.ok()) {
      if (absl::IsUnimplemented(inferred.status()) && given.has_value()) return *std::move(given);
      return absl::InvalidArgumentError(absl::StrCat(place, ": ", inferred.status().message()));
    }
    if (index >= static_cast<int>(inferred->size())) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": there is no such output"));
    }
    const TensorType& computed = (*inferred)[index];
    if (!given.has_value() || !given->known()) return computed;
    if (computed.known() && *given != computed) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, " is ", computed.ToString(), ", not ", given->ToString()));
    }
    return *std::move(given);
  }

  // Opaque nodes, and all nodes when nothing infers, need their types in the text.
  absl::StatusOr<std::vector<TensorType>> Infer(OpKind op, const Attributes& attributes,
                                                absl::Span<const TensorId> inputs,
                                                int output_count) {
    if (infer_ == nullptr || op == OpKind::kOpaque) {
      return absl::UnimplementedError("a type is needed, as in %y: float32[1,3]");
    }
    std::vector<TensorType> types;
    std::vector<const Tensor*> constants;
    for (TensorId input : inputs) {
      types.push_back(input == kNoTensor ? TensorType() : builder_.tensor(input).type);
      const Constant* constant =
          input == kNoTensor ? nullptr : builder_.tensor(input).constant.get();
      constants.push_back(constant != nullptr ? constant->inline_value() : nullptr);
    }
    return infer_(op, attributes, types, constants, output_count);
  }

  absl::Status ParseOutputs(TextScanner* scanner) {
    bool first = true;
    while (!scanner->AtEnd()) {
      if (!first) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
      first = false;
      PLAIT_ASSIGN_OR_RETURN(const TensorId output, ParseUse(scanner));
      builder_.AddOutput(output);
    }
    return absl::OkStatus();
  }

  const InferFunction& infer_;
  Stage stage_ = Stage::kStart;
  GraphBuilder builder_;
  absl::flat_hash_map<std::string, TensorId> tensors_;
  int64_t node_count_ = 0;
};

}  // namespace

absl::StatusOr<Graph> ParseGraph(absl::string_view text, const InferFunction& infer) {
  if (static_cast<int64_t>(text.size()) > kGraphTextBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a graph's text has at most ", kGraphTextBytesMax, " bytes, this one has ", text.size()));
  }
  return GraphParser(infer).Parse(text);
}

}  // namespace plait
