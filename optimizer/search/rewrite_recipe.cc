#include "optimizer/search/rewrite_recipe.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "optimizer/ir/text_scanner.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/rules/laws/law_rules.h"
#include "optimizer/search/region.h"

// Two products of one input, merged in a search of the second piece:
//
//   piece nodes=[0]
//   piece nodes=[1,2,3]
//   step node=0 choice=0 rule="merge_mat_muls"
//
// The rule is asked at node 0 of the piece, which is node 1 of the graph. At another batch the
// Split that it adds has the same sizes, and at another width of the weights others: they are the
// rule's to say, and not the recipe's. A line "round" begins pieces of what those above led to.

namespace plait {
namespace {

constexpr int64_t kIntMax = std::numeric_limits<int>::max();
// Above what a rule offers at one node, by far.
constexpr int64_t kChoicesMax = 1000;

// EveryRule(), without reading laws where only those are named that stand in front of them.
RuleList RulesUpTo(int last) {
  return last < static_cast<int>(AllRules().size()) ? AllRules() : EveryRule();
}

absl::StatusOr<int> RuleNamed(absl::string_view name) {
  const RuleList rules = IsGeneratedName(name) ? EveryRule() : AllRules();
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i]->name == name) return static_cast<int>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no rule \"", name.substr(0, 40), "\" in this version"));
}

absl::StatusOr<std::vector<NodeId>> ParseNodes(TextScanner* scanner) {
  std::vector<NodeId> nodes;
  PLAIT_RETURN_IF_ERROR(scanner->Expect("nodes=["));
  while (!scanner->Consume("]")) {
    if (!nodes.empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
    PLAIT_ASSIGN_OR_RETURN(const int64_t node, scanner->Integer(0, kIntMax));
    nodes.push_back(static_cast<NodeId>(node));
  }
  return nodes;
}

absl::Status ParseLine(TextScanner* scanner, RewriteRecipe* recipe) {
  std::vector<RewriteRecipe::Round>& rounds = recipe->rounds;
  if (scanner->Consume("piece ")) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<NodeId> nodes, ParseNodes(scanner));
    if (rounds.empty()) rounds.emplace_back();
    rounds.back().push_back({std::move(nodes), {}});
    return absl::OkStatus();
  }
  const bool has_piece = !rounds.empty() && !rounds.back().empty();
  if (scanner->Consume("round")) {
    if (!has_piece) return absl::InvalidArgumentError("a round before any piece");
    rounds.emplace_back();
    return absl::OkStatus();
  }
  PLAIT_RETURN_IF_ERROR(scanner->Expect("step "));
  if (!has_piece) return absl::InvalidArgumentError("a step before any piece");
  RewriteStep step;
  PLAIT_RETURN_IF_ERROR(scanner->Expect("node="));
  PLAIT_ASSIGN_OR_RETURN(const int64_t node, scanner->Integer(0, kIntMax));
  PLAIT_RETURN_IF_ERROR(scanner->Expect("choice="));
  PLAIT_ASSIGN_OR_RETURN(const int64_t choice, scanner->Integer(0, kChoicesMax));
  PLAIT_RETURN_IF_ERROR(scanner->Expect("rule="));
  PLAIT_ASSIGN_OR_RETURN(const std::string rule, scanner->Quoted());
  PLAIT_ASSIGN_OR_RETURN(step.rule, RuleNamed(rule));
  step.node = static_cast<NodeId>(node);
  step.choice = static_cast<int>(choice);
  rounds.back().back().steps.push_back(step);
  return absl::OkStatus();
}

// What a round of no steps takes, in looks at a node: the graph is taken apart and put together.
constexpr int64_t kNodeStepsOfARound = 1000;

// Earlier pieces feeding later ones only is what makes each of them convex. What is looked at is
// taken off `node_steps_left`.
absl::Status CheckPieces(const Graph& graph, const RewriteRecipe::Round& pieces,
                         int64_t& node_steps_left) {
  const absl::Status other = absl::FailedPreconditionError("its rewrites are for another graph");
  std::vector<int> piece_of(graph.node_count(), -1);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const RewriteRecipe::Piece& piece = pieces[i];
    if (!std::is_sorted(piece.nodes.begin(), piece.nodes.end())) return other;
    for (const NodeId node : piece.nodes) {
      if (node < 0 || node >= graph.node_count() || piece_of[node] >= 0) return other;
      piece_of[node] = static_cast<int>(i);
    }
    node_steps_left -= static_cast<int64_t>(piece.nodes.size() * (1 + piece.steps.size()));
  }
  node_steps_left -= kNodeStepsOfARound;
  if (node_steps_left < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("its rewrites look at ",
                                                     kRecipeNodeStepsMax - node_steps_left,
                                                     " nodes, more than ", kRecipeNodeStepsMax));
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (piece_of[id] < 0) return other;
    for (const TensorId input : graph.node(id).inputs) {
      const NodeId producer = input == kNoTensor ? kNoNode : graph.tensor(input).producer;
      if (producer != kNoNode && piece_of[producer] > piece_of[id]) return other;
    }
  }
  return absl::OkStatus();
}

void PrintRound(const RewriteRecipe::Round& pieces, std::string* text) {
  for (const RewriteRecipe::Piece& piece : pieces) {
    absl::StrAppend(text, "piece nodes=[", absl::StrJoin(piece.nodes, ","), "]\n");
    for (const RewriteStep& step : piece.steps) {
      absl::StrAppend(text, "step node=", step.node, " choice=", step.choice,
                      " rule=", Quote(RulesUpTo(step.rule)[step.rule]->name), "\n");
    }
  }
}

// REQUIRES: `graph` is in normal form.
absl::StatusOr<Graph> FollowRound(const Graph& graph, const RewriteRecipe::Round& pieces,
                                  int64_t& node_steps_left) {
  PLAIT_RETURN_IF_ERROR(CheckPieces(graph, pieces, node_steps_left));
  RuleCounts counts;
  std::vector<Region> regions;
  std::vector<Graph> replacements;
  for (const RewriteRecipe::Piece& piece : pieces) {
    regions.push_back(MakeRegion(graph, piece.nodes));
    const std::vector<int> rules = RulesOf(piece.steps);
    PLAIT_ASSIGN_OR_RETURN(
        Graph replacement,
        RepeatSteps(ExtractRegion(graph, regions.back()),
                    RulesUpTo(rules.empty() ? 0 : rules.back()), piece.steps, &counts));
    replacements.push_back(std::move(replacement));
  }
  const absl::StatusOr<Graph> stitched = Stitch(graph, regions, replacements);
  if (!stitched.ok()) return absl::FailedPreconditionError(stitched.status().message());
  return Canonicalize(*stitched, AllRules(), &counts);
}

}  // namespace

RewriteRecipe Joined(RewriteRecipe first, const RewriteRecipe& second) {
  first.rounds.insert(first.rounds.end(), second.rounds.begin(), second.rounds.end());
  return first;
}

std::string PrintRecipe(const RewriteRecipe& recipe) {
  std::string text;
  for (const RewriteRecipe::Round& round : recipe.rounds) {
    if (!text.empty()) text += "round\n";
    PrintRound(round, &text);
  }
  return text;
}

absl::StatusOr<RewriteRecipe> ParseRecipe(absl::string_view text) {
  RewriteRecipe recipe;
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    TextScanner scanner(line);
    if (scanner.AtEnd()) continue;
    absl::Status status = ParseLine(&scanner, &recipe);
    if (status.ok()) status = scanner.ExpectEnd();
    if (!status.ok()) return Annotate(status, absl::StrCat("rewrites: line ", line_number));
  }
  if (!recipe.empty() && recipe.rounds.back().empty()) {
    return absl::InvalidArgumentError("rewrites: the last round has no pieces");
  }
  return recipe;
}

absl::StatusOr<Graph> FollowRecipe(const Graph& normal_form, const RewriteRecipe& recipe) {
  Graph graph = normal_form;
  int64_t node_steps_left = kRecipeNodeStepsMax;
  for (const RewriteRecipe::Round& round : recipe.rounds) {
    PLAIT_ASSIGN_OR_RETURN(graph, FollowRound(graph, round, node_steps_left));
  }
  return graph;
}

bool LeadsTo(const Graph& original, const RewriteRecipe& recipe, const Graph& rewritten) {
  RuleCounts counts;
  const absl::StatusOr<Graph> normal_form = Canonicalize(original, AllRules(), &counts);
  if (!normal_form.ok()) return false;
  const absl::StatusOr<Graph> followed = FollowRecipe(*normal_form, recipe);
  return followed.ok() && followed->fingerprint() == rewritten.fingerprint() &&
         CorrespondingTensors(rewritten, *followed).ok();
}

}  // namespace plait
