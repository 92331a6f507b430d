#include "client/plan_diff.h"

#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace plait {
namespace {

// Sets of steps that grow together (Tarjan's union-find, without ranks: there are few steps).
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }
  size_t Root(size_t item) {
    while (parents_[item] != item) item = parents_[item] = parents_[parents_[item]];
    return item;
  }
  void Join(size_t a, size_t b) { parents_[Root(b)] = Root(a); }

 private:
  std::vector<size_t> parents_;
};

std::vector<std::string> KernelsOf(absl::Span<const ExplainedStep> steps) {
  std::vector<std::string> kernels;
  for (const ExplainedStep& step : steps) kernels.push_back(KernelText(step));
  return kernels;
}

// The named nodes of the steps, in order.
std::vector<std::string> NodesOf(absl::Span<const ExplainedStep> steps) {
  std::vector<std::string> nodes;
  for (const ExplainedStep& step : steps) {
    absl::c_copy_if(step.nodes, std::back_inserter(nodes),
                    [](const std::string& name) { return !name.empty(); });
  }
  return nodes;
}

std::string FirstNodeOf(const MatchedSteps& match) {
  for (const auto& steps : {match.before, match.after}) {
    const std::vector<std::string> nodes = NodesOf(steps);
    if (!nodes.empty()) return nodes.front();
  }
  return "";
}

// "2 x conv nhwc, add": of a part with many kernels each once.
std::string KernelsText(absl::Span<const ExplainedStep> steps) {
  std::map<std::string, int> counts;
  for (const std::string& kernel : KernelsOf(steps)) ++counts[kernel];
  return counts.empty() ? "-"
                        : absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
                            if (entry.second > 1) absl::StrAppend(out, entry.second, " x ");
                            absl::StrAppend(out, entry.first);
                          });
}

}  // namespace

std::vector<MatchedSteps> MatchSteps(absl::Span<const ExplainedStep> before,
                                     absl::Span<const ExplainedStep> after) {
  Sets sets(before.size() + after.size());
  std::map<std::string, size_t> holders;
  const auto step_at = [&](size_t item) -> const ExplainedStep& {
    return item < before.size() ? before[item] : after[item - before.size()];
  };
  for (size_t item = 0; item < before.size() + after.size(); ++item) {
    for (const std::string& name : step_at(item).nodes) {
      if (name.empty()) continue;
      const auto [holder, is_new] = holders.try_emplace(name, item);
      if (!is_new) sets.Join(holder->second, item);
    }
  }
  std::map<size_t, MatchedSteps> by_root;
  for (size_t item = 0; item < before.size() + after.size(); ++item) {
    MatchedSteps& match = by_root[sets.Root(item)];
    const bool is_before = item < before.size();
    (is_before ? match.before : match.after).push_back(step_at(item));
    (is_before ? match.before_us : match.after_us) += step_at(item).us;
  }
  std::vector<MatchedSteps> matches;
  for (auto& [root, match] : by_root) matches.push_back(std::move(match));
  absl::c_stable_sort(matches, [](const MatchedSteps& a, const MatchedSteps& b) {
    return std::abs(a.before_us - a.after_us) > std::abs(b.before_us - b.after_us);
  });
  return matches;
}

Json DiffJson(absl::Span<const MatchedSteps> matches) {
  Json json = Json::array();
  for (const MatchedSteps& match : matches) {
    Json entry;
    entry["nodes"] = NodesOf(match.before.empty() ? match.after : match.before);
    entry["before"] = KernelsOf(match.before);
    entry["after"] = KernelsOf(match.after);
    entry["before_us"] = match.before_us;
    entry["after_us"] = match.after_us;
    json.push_back(std::move(entry));
  }
  return json;
}

std::string DiffTable(absl::Span<const MatchedSteps> matches, size_t top) {
  std::string text = absl::StrFormat("%10s %10s %10s  %-30s %-44s %s\n", "before, us", "after, us",
                                     "change", "first node", "kernels before", "kernels after");
  size_t shown = 0;
  for (const MatchedSteps& match : matches) {
    if (top > 0 && shown++ == top) break;
    absl::StrAppendFormat(&text, "%10.1f %10.1f %+10.1f  %-30s %-44s %s\n", match.before_us,
                          match.after_us, match.after_us - match.before_us, FirstNodeOf(match),
                          KernelsText(match.before), KernelsText(match.after));
  }
  return text;
}

}  // namespace plait
