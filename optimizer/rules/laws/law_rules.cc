#include "optimizer/rules/laws/law_rules.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optimizer/rules/laws/write_law.h"

namespace plait {
namespace {

constexpr absl::string_view kPrefix = "generated/";

// One literal a law: the file is longer than a literal may be.
constexpr absl::string_view kGeneratedLaws[] = {
#include "optimizer/rules/laws/generated_laws.inc"
};

std::string TermOf(const Graph& graph, TensorId tensor) {
  const NodeId producer = graph.tensor(tensor).producer;
  if (producer == kNoNode) return *graph.tensor(tensor).name;
  const Node& node = graph.node(producer);
  std::vector<std::string> operands;
  for (const TensorId input : node.inputs) {
    if (graph.tensor(input).constant == nullptr) operands.push_back(TermOf(graph, input));
  }
  const absl::string_view op = node.op == OpKind::kRelu ? "f" : OpKindName(node.op);
  return absl::StrCat(
      op, node.attributes->Has("axis") ? "_" : "",
      node.attributes->Has("axis") ? absl::StrCat(node.attributes->Int("axis", 0)) : "", "(",
      absl::StrJoin(operands, ", "), ")");
}

std::string SideOf(const Graph& graph) {
  std::vector<std::string> terms;
  for (const TensorId output : graph.outputs()) {
    const NodeId producer = graph.tensor(output).producer;
    const bool is_part = producer != kNoNode && graph.node(producer).outputs.size() > 1;
    if (is_part && graph.node(producer).outputs[0] != output) continue;  // the term says all parts
    terms.push_back(TermOf(graph, output));
  }
  return absl::StrJoin(terms, ", ");
}

Rewrites Match(const Rule& rule, const Graph& graph, NodeId node) {
  return MatchLaw(*rule.pattern, graph, node);
}

std::vector<const Rule*> JoinedRules(absl::Span<const Rule* const> first,
                                     absl::Span<const Rule* const> second) {
  std::vector<const Rule*> rules(first.begin(), first.end());
  rules.insert(rules.end(), second.begin(), second.end());
  return rules;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const LawRules>> LawRules::Parse(absl::string_view text) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<Law> laws, ParseLaws(text));
  std::vector<LawPattern> patterns;
  absl::flat_hash_set<std::string> ids;
  for (Law& law : laws) {
    PLAIT_ASSIGN_OR_RETURN(LawPattern pattern, PatternOf(std::move(law)));
    if (!ids.insert(pattern.id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("law ", pattern.law.name, ": is there twice, under other names"));
    }
    patterns.push_back(std::move(pattern));
  }
  return std::unique_ptr<const LawRules>(new LawRules(std::move(patterns)));
}

LawRules::LawRules(std::vector<LawPattern> patterns) : patterns_(std::move(patterns)) {
  for (const LawPattern& pattern : patterns_) {
    names_.push_back(absl::StrCat(kPrefix, pattern.id));
    laws_.push_back(absl::StrCat(SideOf(pattern.law.source), " = ", SideOf(pattern.law.target)));
  }
  for (size_t i = 0; i < patterns_.size(); ++i) {
    rules_.push_back({.name = names_[i],
                      .law = laws_[i],
                      .root = patterns_[i].law.source.node(patterns_[i].root).op,
                      .match = Match,
                      .pattern = &patterns_[i]});
  }
  for (const Rule& rule : rules_) pointers_.push_back(&rule);
}

absl::Span<const Rule* const> GeneratedRules() {
  // The text was checked when it was written, and by a test.
  static const std::unique_ptr<const LawRules> rules = [] {
    auto parsed = LawRules::Parse(absl::StrJoin(kGeneratedLaws, ""));
    PLAIT_CHECK(parsed.ok());
    return *std::move(parsed);
  }();
  return rules->rules();
}

absl::Span<const Rule* const> EveryRule() {
  static const std::vector<const Rule*> rules = JoinedRules(AllRules(), GeneratedRules());
  return rules;
}

absl::Span<const Rule* const> PortableRulesAndGenerated() {
  static const std::vector<const Rule*> rules = JoinedRules(PortableRules(), GeneratedRules());
  return rules;
}

bool IsGeneratedName(absl::string_view name) { return absl::StartsWith(name, kPrefix); }

}  // namespace plait
