#include "optimizer/rules/rule.h"

#include <algorithm>
#include <array>

namespace plait {
namespace {

constexpr std::array kRules = {
#define PLAIT_RULE(name) &k##name,
#include "optimizer/rules/rules.def"
#undef PLAIT_RULE
};

// As many places as there are rules; the first `count` are taken.
struct RulePlaces {
  std::array<const Rule*, kRules.size()> rules;
  size_t count;
};

}  // namespace

absl::Span<const Rule* const> AllRules() { return kRules; }

absl::Span<const Rule* const> PortableRules() {
  // Filled at the first call, since the rules are constants of other files; needs no destructor.
  static const RulePlaces portable = [] {
    RulePlaces places{};
    const auto end = std::copy_if(kRules.begin(), kRules.end(), places.rules.begin(),
                                  [](const Rule* rule) { return rule->portable; });
    places.count = static_cast<size_t>(end - places.rules.begin());
    return places;
  }();
  return absl::MakeConstSpan(portable.rules.data(), portable.count);
}

const Rule* FindRule(absl::string_view name) {
  const auto found = std::find_if(kRules.begin(), kRules.end(),
                                  [&](const Rule* rule) { return rule->name == name; });
  return found == kRules.end() ? nullptr : *found;
}

}  // namespace plait
