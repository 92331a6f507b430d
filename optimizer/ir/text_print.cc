#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"
#include "optimizer/ir/text_scanner.h"
#include "optimizer/ir/value_text.h"

namespace plait {
namespace {

// Statements in the order in which the parser needs them: inputs, constants with what they are made
// of before them, nodes, outputs. The order follows from the graph alone: one graph has one text,
// which profile keys and golden tests rely on.
class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph) : graph_(graph) {}

  std::string Print() && {
    text_ = "graph {\n";
    for (TensorId input : graph_.inputs()) {
      absl::StrAppend(&text_, "  input ");
      AppendTyped(input);
      absl::StrAppend(&text_, "\n");
    }
    PrintConstants();
    for (const Node& node : graph_.nodes()) PrintNode(node);
    absl::StrAppend(&text_, "  output");
    const char* separator = " ";
    for (TensorId output : graph_.outputs()) {
      absl::StrAppend(&text_, separator);
      AppendTensorName(*graph_.tensor(output).name);
      separator = ", ";
    }
    absl::StrAppend(&text_, "\n}\n");
    return std::move(text_);
  }

 private:
  void AppendTensorName(absl::string_view name) {
    absl::StrAppend(&text_, "%");
    AppendName(name, &text_);
  }

  void AppendTyped(TensorId id) {
    AppendTensorName(*graph_.tensor(id).name);
    absl::StrAppend(&text_, ": ", graph_.type(id).ToString());
  }

  void PrintConstants() {
    for (const TensorInfo& tensor : graph_.tensors()) {
      taken_names_.insert(*tensor.name);
      if (tensor.constant != nullptr) {
        names_.try_emplace(tensor.constant->fingerprint(), *tensor.name);
      }
    }
    for (const TensorInfo& tensor : graph_.tensors()) {
      if (tensor.constant == nullptr) continue;
      const Fingerprint& fingerprint = tensor.constant->fingerprint();
      // Graph outputs keep names of their own, so the same constant may be printed once per name.
      if (names_.at(fingerprint) == *tensor.name && printed_.contains(fingerprint)) continue;
      PrintConstant(*tensor.constant, *tensor.name);
    }
  }

  // The name of a constant that an expression uses; generated when the graph has no tensor for it.
  const std::string& NameOf(const Constant& constant) {
    const auto [place, added] = names_.try_emplace(constant.fingerprint());
    while (added && (place->second.empty() || taken_names_.contains(place->second))) {
      place->second = absl::StrCat("c", generated_count_++);
    }
    return place->second;
  }

  // Prints what an expression uses before the expression.
  void PrintConstant(const Constant& constant, const std::string& name) {
    printed_.insert(constant.fingerprint());
    std::string value;
    if (const auto* weight = std::get_if<Constant::Weight>(&constant.value())) {
      absl::StrAppend(&value, "weight ", weight->digest.ToString());
    } else if (const auto* synthetic = std::get_if<Constant::Synthetic>(&constant.value())) {
      absl::StrAppend(&value, "synthetic ", synthetic->seed);
    } else if (const Tensor* tensor = constant.inline_value()) {
      AppendTensor(*tensor, &value);
    } else {
      value = Expression(std::get<Constant::Apply>(constant.value()));
    }
    absl::StrAppend(&text_, "  const ");
    AppendTensorName(name);
    absl::StrAppend(&text_, ": ", constant.type().ToString(), " = ", value, "\n");
  }

  // As deep a recursion as the expression, which kConstantDepthMax bounds.
  std::string Expression(const Constant::Apply& apply) {
    std::string text = absl::StrCat(OpKindName(apply.op), "(");
    const char* separator = "";
    for (const ConstantRef& input : apply.inputs) {
      absl::StrAppend(&text, separator, input == nullptr ? "_" : "%");
      separator = ", ";
      if (input == nullptr) continue;
      const std::string name = NameOf(*input);
      if (!printed_.contains(input->fingerprint())) PrintConstant(*input, name);
      AppendName(name, &text);
    }
    absl::StrAppend(&text, ") ");
    AppendAttributes(*apply.attributes, &text);
    if (apply.output_index != 0) absl::StrAppend(&text, " output ", apply.output_index);
    return text;
  }

  void PrintNode(const Node& node) {
    const char* separator = "  ";
    for (TensorId output : node.outputs) {
      absl::StrAppend(&text_, separator);
      separator = ", ";
      if (output == kNoTensor) {
        absl::StrAppend(&text_, "_");
      } else {
        AppendTyped(output);
      }
    }
    absl::StrAppend(&text_, " = ", OpKindName(node.op), "(");
    separator = "";
    for (TensorId input : node.inputs) {
      absl::StrAppend(&text_, separator);
      separator = ", ";
      if (input == kNoTensor) {
        absl::StrAppend(&text_, "_");
      } else {
        AppendTensorName(*graph_.tensor(input).name);
      }
    }
    absl::StrAppend(&text_, ") ");
    AppendAttributes(*node.attributes, &text_);
    if (node.name != nullptr && !node.name->empty()) {
      absl::StrAppend(&text_, " @");
      AppendName(*node.name, &text_);
    }
    absl::StrAppend(&text_, "\n");
  }

  const Graph& graph_;
  std::string text_;
  absl::flat_hash_set<std::string> taken_names_;
  absl::flat_hash_map<Fingerprint, std::string> names_;
  absl::flat_hash_set<Fingerprint> printed_;
  int generated_count_ = 0;
};

}  // namespace

std::string PrintGraph(const Graph& graph) { return GraphPrinter(graph).Print(); }

}  // namespace plait
