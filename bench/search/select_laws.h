#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/rules/laws/law.h"

namespace plait {

// What became of a law in one of its directions.
enum class LawVerdict {
  kSearched,      // a rule that a search may ask
  kNoRule,        // cannot be found in a graph, or not written into one
  kNormalForm,    // both sides are one graph in normal form, or no normal form has the source
  kNeverCheaper,  // its target is never cheaper at sizes and constants that were tried
  kByHand,        // rules written by hand make something as cheap of its source
  kByAnother,     // laws that are kept already do
};
inline constexpr int kLawVerdicts = 6;

struct SelectedLaw {
  std::string name;     // of the generator's, with "_back" from target to source
  std::string id = {};  // LawId of the general form
  LawVerdict verdict = LawVerdict::kNoRule;
  std::string reason = {};
};

struct LawSelection {
  std::vector<SelectedLaw> laws;  // two for each law, in their order
  std::vector<Law> rules;         // what is searched, general; the simple ones first
};

// Every rule that the laws can be, in either direction and general, each once.
std::vector<Law> DirectedLaws(const std::vector<Law>& laws);

// The laws of generated/deep.txt, matrix.txt, sum.txt and image.txt in `folder`. Errors: NotFound;
// those of ParseLaws.
absl::StatusOr<std::vector<Law>> ReadGeneratedLaws(const std::string& folder);

// Which laws are worth asking beside the rules that are written by hand. Both directions of each
// law, at the most general sizes and windows that are proved, are tried at several sizes and with
// each set of inputs that may be constant (kernels always are); costs are those of two plain
// machines, a processor's core and a large GPU, that read, compute and write node by node.
// Deterministic.
LawSelection SelectLaws(const std::vector<Law>& laws);

// A line for each: name, id, verdict and reason; a summary in front.
std::string PrintSelection(const LawSelection& selection);

}  // namespace plait
