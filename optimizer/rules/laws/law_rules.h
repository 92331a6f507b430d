#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/rules/laws/law_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {

// Laws as rules, each from source to target. Their names are "generated/" and the law's id, so that
// they say the same in every version. Owns what its rules refer to; neither copied nor moved.
// Thread rule: const access from any thread.
class LawRules {
 public:
  // From the text of laws. Errors: those of ParseLaws and PatternOf; InvalidArgument when a law is
  // there twice.
  static absl::StatusOr<std::unique_ptr<const LawRules>> Parse(absl::string_view text);

  // In the order of the text.
  absl::Span<const Rule* const> rules() const { return pointers_; }

 private:
  explicit LawRules(std::vector<LawPattern> patterns);

  std::vector<LawPattern> patterns_;
  std::vector<std::string> names_;
  std::vector<std::string> laws_;  // as a line, for reports
  std::vector<Rule> rules_;
  std::vector<const Rule*> pointers_;
};

// The laws that this build may ask, in their order: those of generated/rules.txt. Read when they
// are first asked for.
absl::Span<const Rule* const> GeneratedRules();

// Every rule that a recipe may name: AllRules(), in the same places, and behind them
// GeneratedRules().
absl::Span<const Rule* const> EveryRule();

// PortableRules() and behind them GeneratedRules().
absl::Span<const Rule* const> PortableRulesAndGenerated();

// True for the name of a rule that is data.
bool IsGeneratedName(absl::string_view name);

}  // namespace plait
