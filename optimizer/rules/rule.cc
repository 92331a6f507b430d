#include "optimizer/rules/rule.h"

#include <array>
#include <vector>

namespace plait {

#define PLAIT_RULE(name) extern const Rule k##name;
#include "optimizer/rules/rules.def"
#undef PLAIT_RULE

namespace {

constexpr std::array kRules = {
#define PLAIT_RULE(name) &k##name,
#include "optimizer/rules/rules.def"
#undef PLAIT_RULE
};

}  // namespace

absl::Span<const Rule* const> AllRules() { return kRules; }

absl::Span<const Rule* const> PortableRules() {
  static const auto* const rules = [] {
    auto* portable = new std::vector<const Rule*>;
    for (const Rule* rule : kRules) {
      if (rule->portable) portable->push_back(rule);
    }
    return portable;
  }();
  return *rules;
}

const Rule* FindRule(absl::string_view name) {
  for (const Rule* rule : kRules) {
    if (rule->name == name) return rule;
  }
  return nullptr;
}

}  // namespace plait
