#include "optimizer/rules/laws/law.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// A law's sections, before its graphs are read.
struct LawText {
  std::string name;
  std::string evidence;
  std::string source;
  std::string target;
  bool any_window = false;
};

absl::Status Wrong(absl::string_view law, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("law ", law, ": ", what));
}

absl::Status CheckEnds(const Law& law) {
  const auto types = [](const Graph& graph, absl::Span<const TensorId> tensors) {
    std::vector<TensorType> types;
    for (const TensorId tensor : tensors) types.push_back(graph.type(tensor));
    return types;
  };
  if (types(law.source, law.source.inputs()) != types(law.target, law.target.inputs())) {
    return Wrong(law.name, "its sides have different inputs");
  }
  if (types(law.source, law.source.outputs()) != types(law.target, law.target.outputs())) {
    return Wrong(law.name, "its sides have different outputs");
  }
  return absl::OkStatus();
}

absl::StatusOr<Law> Read(const LawText& text) {
  Law law{text.name, text.evidence, {}, {}, text.any_window};
  if (text.source.empty() || text.target.empty()) return Wrong(text.name, "a side is missing");
  auto source = ParseTypedGraph(text.source);
  if (!source.ok()) return Wrong(text.name, source.status().message());
  auto target = ParseTypedGraph(text.target);
  if (!target.ok()) return Wrong(text.name, target.status().message());
  law.source = *std::move(source);
  law.target = *std::move(target);
  PLAIT_RETURN_IF_ERROR(CheckEnds(law));
  return law;
}

// Where the lines behind `source:` or `target:` go; nullptr for other lines.
std::string* SectionOf(absl::string_view line, LawText* text) {
  if (line == "source:") return &text->source;
  if (line == "target:") return &text->target;
  return nullptr;
}

}  // namespace

std::string PrintLaws(const std::vector<Law>& laws) {
  std::string text;
  for (const Law& law : laws) {
    absl::StrAppend(&text, "law: ", law.name, "\nevidence: ", law.evidence,
                    law.any_window ? "\nwindows: any" : "", "\nsource:\n", PrintGraph(law.source),
                    "target:\n", PrintGraph(law.target), "\n");
  }
  return text;
}

absl::StatusOr<std::vector<Law>> ParseLaws(absl::string_view text) {
  std::vector<LawText> texts;
  std::string* section = nullptr;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "law: ")) {
      texts.push_back({std::string(line)});
      section = nullptr;
    } else if (texts.empty()) {
      if (!line.empty() && line[0] != '#') return Wrong("?", "text in front of the first law");
    } else if (absl::ConsumePrefix(&line, "evidence: ")) {
      texts.back().evidence = std::string(line);
    } else if (section == nullptr && line == "windows: any") {
      texts.back().any_window = true;
    } else if (std::string* next = SectionOf(line, &texts.back()); next != nullptr) {
      if (!next->empty()) return Wrong(texts.back().name, "a side is there twice");
      section = next;
    } else if (section != nullptr) {
      absl::StrAppend(section, line, "\n");
    } else if (!line.empty()) {
      return Wrong(texts.back().name, "text outside of its sides");
    }
  }
  std::vector<Law> laws;
  std::set<std::string> names;
  for (const LawText& law_text : texts) {
    if (!names.insert(law_text.name).second) return Wrong(law_text.name, "its name is there twice");
    PLAIT_ASSIGN_OR_RETURN(Law law, Read(law_text));
    laws.push_back(std::move(law));
  }
  return laws;
}

}  // namespace plait
