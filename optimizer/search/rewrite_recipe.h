#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/search/rewrite_steps.h"

namespace plait {

// 1,000,000 nodes of pieces times steps: far above what a search records, and what a stranger's
// recipe may ask for.
inline constexpr int64_t kRecipeNodeStepsMax = 1'000'000;

// How a search rewrote the normal form of a graph, round by round: which pieces it cut it into, and
// which rule it applied where in each. Followed on the normal form of the same model at other
// shapes it gives the rewritten graph there: every rule is asked again, so that sizes in reshapes,
// slices and splits are those of the other shapes, and what comes out equals the original by the
// same laws, whoever wrote the recipe. Empty: nothing was rewritten.
struct RewriteRecipe {
  struct Piece {
    std::vector<NodeId> nodes;       // of the normal form, ascending
    std::vector<RewriteStep> steps;  // of the piece as a graph; rules are those of EveryRule()
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  // Together the pieces of a round hold every node once, and only earlier ones feed later ones.
  using Round = std::vector<Piece>;
  std::vector<Round> rounds;  // each of the normal form that the one before it leads to; not empty

  bool empty() const { return rounds.empty(); }
  friend bool operator==(const RewriteRecipe&, const RewriteRecipe&) = default;
};

// The rounds of both, one after the other.
RewriteRecipe Joined(RewriteRecipe first, const RewriteRecipe& second);

// The text form, one line per piece and step, in which rules have their names, and one between
// rounds; "" for an empty recipe. ParseRecipe(PrintRecipe(r)) == r. Texts may be hostile: what
// parses still has to be followed. Errors: InvalidArgument naming the line.
std::string PrintRecipe(const RewriteRecipe& recipe);
absl::StatusOr<RewriteRecipe> ParseRecipe(absl::string_view text);

// Follows a recipe on a normal form; the recipe may be a stranger's. An empty one changes nothing.
// Pure. Errors: FailedPrecondition where it is for another structure: its pieces are not the
// graph's, or a rule does not match where it did; ResourceExhausted above kRecipeNodeStepsMax.
absl::StatusOr<Graph> FollowRecipe(const Graph& normal_form, const RewriteRecipe& recipe);

// Whether the recipe leads from the original graph's normal form to `rewritten`, node by node: what
// has to be so before a plan for `rewritten` may be bound to other shapes by it.
bool LeadsTo(const Graph& original, const RewriteRecipe& recipe, const Graph& rewritten);

}  // namespace plait
