#include "client/explained_rules.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "client/files/model.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/rules/ask_rules.h"
#include "optimizer/rules/laws/law_rules.h"
#include "optimizer/search/predicted_plan.h"

namespace plait {
namespace {

// A rule with more rewrites at one node than that offers sets of one kind; the first say enough.
constexpr size_t kPricedRewritesMax = 4;

std::string NameOf(const Node& node) { return node.name == nullptr ? "" : *node.name; }

// Nodes of rewrites have no name.
std::string NameOrOutput(const Graph& graph, const Node& node) {
  const std::string name = NameOf(node);
  if (!name.empty() || node.outputs.empty() || node.outputs[0] == kNoTensor) return name;
  return absl::StrCat("%", *graph.tensor(node.outputs[0]).name);
}

// Whether the node has that name, or a node that it reads or that reads it has.
bool IsBeside(const Graph& graph, NodeId id, absl::string_view name) {
  const Node& node = graph.node(id);
  if (NameOf(node) == name) return true;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeId producer = graph.producer(id, static_cast<int>(i));
    if (producer != kNoNode && NameOf(graph.node(producer)) == name) return true;
  }
  return absl::c_any_of(node.outputs, [&](TensorId output) {
    return output != kNoTensor && absl::c_any_of(graph.users(output), [&](NodeId reader) {
             return NameOf(graph.node(reader)) == name;
           });
  });
}

bool IsSameAnswer(const ExplainedRule& a, const ExplainedRule& b) {
  return a.rule == b.rule && a.op == b.op && a.node == b.node && a.rewrites == b.rewrites &&
         a.reasons == b.reasons;
}

// Predicted times of whole graphs on one device.
class Prices {
 public:
  Prices(const DeviceDescription& device, const KernelCatalog& catalog)
      : device_(device), catalog_(catalog) {}

  std::optional<double> Us(const Graph& graph) const {
    const auto planned = PredictedPlan(graph, device_, catalog_, std::string(PlanEngineVersion()));
    return planned.ok() ? std::optional(planned->predicted_us) : std::nullopt;
  }

  // The same of its normal form, so that what always wins is no part of a difference.
  std::optional<double> UsInNormalForm(const Graph& graph) const {
    RuleCounts counts;
    const absl::StatusOr<Graph> canonical = Canonicalize(graph, AllRules(), &counts);
    return canonical.ok() ? Us(*canonical) : std::nullopt;
  }

  // The time with the best of what the rule offers at the node.
  std::optional<double> UsWith(const Rule& rule, const Graph& graph, NodeId node) const {
    std::optional<double> best_us;
    Rewrites rewrites = rule.match(rule, graph, node);
    if (rewrites.size() > kPricedRewritesMax) rewrites.resize(kPricedRewritesMax);
    for (const Rewrite& rewrite : rewrites) {
      const absl::StatusOr<Graph> after = Apply(graph, rewrite);
      if (!after.ok()) continue;
      const std::optional<double> us = UsInNormalForm(*after);
      if (us.has_value() && (!best_us.has_value() || *us < *best_us)) best_us = us;
    }
    return best_us;
  }

 private:
  const DeviceDescription& device_;
  const KernelCatalog& catalog_;
};

std::string AnswerText(const ExplainedRule& answer) {
  std::string text;
  if (answer.rewrites > 0) {
    text = answer.rule->always_wins ? "applies, always" : "applies, if it is faster";
    if (answer.change_us.has_value()) {
      absl::StrAppendFormat(&text, ": %+.1f us predicted", *answer.change_us);
    }
  }
  for (const std::string& reason : answer.reasons) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", reason);
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<AskedGraph>> AskedGraphs(const LoadedModel& model,
                                                    const Bindings& shapes) {
  PLAIT_ASSIGN_OR_RETURN(const Model imported, ImportModel(model.path));
  std::vector<std::string> told;  // when the model was loaded
  PLAIT_ASSIGN_OR_RETURN(const Bound bound,
                         BindToRun(model.path, imported, ReadFilePlans(imported), shapes, &told));
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(Graph canonical, Canonicalize(bound.graph, AllRules(), &counts));
  std::vector<AskedGraph> graphs = {{"original", bound.graph}};
  for (AskedGraph& other :
       std::vector<AskedGraph>{{"normal_form", std::move(canonical)}, {"running", model.graph}}) {
    const bool is_known = absl::c_any_of(graphs, [&](const AskedGraph& known) {
      return known.graph.fingerprint() == other.graph.fingerprint();
    });
    if (!is_known) graphs.push_back(std::move(other));
  }
  return graphs;
}

absl::StatusOr<std::vector<const Rule*>> RulesNamed(absl::string_view name) {
  if (name.empty() || name == "all") return std::vector(AllRules().begin(), AllRules().end());
  if (const Rule* const rule = FindRule(name)) return std::vector{rule};
  if (IsGeneratedName(name)) {
    for (const Rule* rule : GeneratedRules()) {
      if (rule->name == name) return std::vector{rule};
    }
  }
  std::vector<absl::string_view> similar;
  for (const Rule* rule : AllRules()) {
    if (absl::StrContains(rule->name, name)) similar.push_back(rule->name);
  }
  // A part of no name: then all of them are as likely.
  if (similar.empty()) {
    for (const Rule* rule : AllRules()) similar.push_back(rule->name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--rule: there is no rule \"", name, "\" (all, or ", absl::StrJoin(similar, ", "), ")"));
}

std::vector<ExplainedRule> ExplainRules(absl::Span<const AskedGraph> graphs,
                                        absl::Span<const Rule* const> rules,
                                        absl::string_view node) {
  std::vector<ExplainedRule> answers;
  for (const Rule* rule : rules) {
    const auto first = static_cast<int64_t>(answers.size());
    for (const auto& [name, graph] : graphs) {
      for (RuleAnswer& answer : AskRules(graph, {&rule, 1})) {
        if (!node.empty() && !IsBeside(graph, answer.node, node)) continue;
        const Node& root = graph.node(answer.node);
        ExplainedRule explained{.rule = rule,
                                .graph = name,
                                .id = answer.node,
                                .op = std::string(OpKindName(root.op)),
                                .node = NameOrOutput(graph, root),
                                .rewrites = answer.rewrites,
                                .reasons = std::move(answer.reasons)};
        const bool is_known =
            std::any_of(answers.begin() + first, answers.end(), [&](const ExplainedRule& other) {
              return other.graph != name && IsSameAnswer(other, explained);
            });
        if (!is_known) answers.push_back(std::move(explained));
      }
    }
  }
  return answers;
}

void PriceRules(absl::Span<const AskedGraph> graphs, const DeviceDescription& device, int count_max,
                std::vector<ExplainedRule>* answers) {
  const auto catalog = CatalogFor(device);
  if (!catalog.ok()) return;
  const Prices prices(device, **catalog);
  int left = count_max;
  for (const auto& [name, graph] : graphs) {
    std::optional<double> before_us;
    for (ExplainedRule& answer : *answers) {
      if (answer.graph != name || answer.rewrites == 0 || answer.rule->always_wins) continue;
      if (left-- <= 0) return;
      if (!before_us.has_value()) before_us = prices.UsInNormalForm(graph);
      if (!before_us.has_value()) break;
      const std::optional<double> after_us = prices.UsWith(*answer.rule, graph, answer.id);
      if (after_us.has_value()) answer.change_us = *after_us - *before_us;
    }
  }
}

Json RulesJson(absl::Span<const ExplainedRule> answers) {
  Json json = Json::array();
  for (const ExplainedRule& answer : answers) {
    Json entry;
    entry["rule"] = std::string(answer.rule->name);
    entry["law"] = std::string(answer.rule->law);
    entry["graph"] = answer.graph;
    entry["operator"] = answer.op;
    entry["node"] = answer.node;
    entry["rewrites"] = answer.rewrites;
    entry["change_us"] = answer.change_us.has_value() ? Json(*answer.change_us) : Json();
    entry["reasons"] = answer.reasons;
    json.push_back(std::move(entry));
  }
  return json;
}

std::string RulesText(absl::Span<const ExplainedRule> answers, absl::Span<const Rule* const> asked,
                      size_t top) {
  std::string text;
  for (const Rule* rule : asked) {
    size_t shown = 0;
    size_t left_out = 0;
    for (const ExplainedRule& answer : answers) {
      if (answer.rule != rule) continue;
      if (shown == 0) absl::StrAppend(&text, rule->name, ": ", rule->law, "\n");
      if (top > 0 && shown == top) {
        ++left_out;
        continue;
      }
      ++shown;
      absl::StrAppendFormat(&text, "  %-11s  %s %s: %s\n",
                            absl::StrReplaceAll(answer.graph, {{"_", " "}}), answer.op, answer.node,
                            AnswerText(answer));
    }
    if (left_out > 0) absl::StrAppend(&text, "  and ", left_out, " more (--top 0)\n");
    if (shown == 0 && asked.size() == 1) {
      absl::StrAppend(&text, rule->name, ": ", rule->law,
                      "\n  no node is a case for it, or nearly one\n");
    }
  }
  return text.empty() ? "no rule applies there, or nearly does\n" : text;
}

}  // namespace plait
