#include "bench/search/select_laws.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/cost/roofline.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/generator/generalize_law.h"
#include "optimizer/rules/generator/verify_law.h"
#include "optimizer/rules/laws/law_rules.h"

namespace plait {
namespace {

constexpr const char* kVerdictNames[kLawVerdicts] = {"searched",      "no rule", "normal form",
                                                     "never cheaper", "by hand", "by another"};

constexpr uint64_t kSeed = 1;
// Rewrites one after the other: what a law of three operators does takes two, as a rule.
constexpr int kStepsMax = 2;
constexpr size_t kReachedMax = 60;

struct Machine {
  Roofline roofline;
  double launch_us;
};
// A core with AVX-512, and an H200, by and large.
constexpr Machine kMachines[] = {{{100e3, 20e3}, 1}, {{40e6, 4e6}, 2.5}};
using Costs = std::array<double, std::size(kMachines)>;

Costs CostsOf(const Graph& graph) {
  Costs costs{};
  for (size_t i = 0; i < costs.size(); ++i) {
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      costs[i] += kMachines[i].launch_us + kMachines[i].roofline.LatencyUs(WorkOf(graph, node));
    }
  }
  return costs;
}

bool IsCheaperSomewhere(const Costs& a, const Costs& b, double than) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i] * than) return true;
  }
  return false;
}

// Inputs whose bit is set become constants.
Graph WithConstants(const Graph& graph, unsigned constants) {
  GraphBuilder builder;
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    const bool is_constant = (constants >> i & 1) != 0;
    inputs.push_back(is_constant ? builder.AddConstant(Constant::OfSynthetic(type, i + 1))
                                 : builder.AddInput(type, absl::StrCat("x", i)));
  }
  GraphCopier copier(graph, &builder, inputs);
  for (NodeId node = 0; node < graph.node_count(); ++node) copier.CopyNode(node);
  for (const TensorId output : graph.outputs()) builder.AddOutput(copier.TensorOf(output));
  auto finished = std::move(builder).Finish();
  PLAIT_CHECK(finished.ok());
  return *std::move(finished);
}

std::optional<Graph> NormalForm(const Graph& graph) {
  RuleCounts counts;
  auto normal = Canonicalize(graph, AllRules(), &counts);
  if (!normal.ok()) return std::nullopt;
  return *std::move(normal);
}

// A graph in normal form in which the law applies, and the normal form of what it makes there.
struct Instance {
  Graph source;
  Graph target;
};

// The law's variables are given sizes: equal ones, and such that differ by what they cost.
std::vector<std::map<int64_t, int64_t>> SizesToTry(const Graph& source) {
  std::vector<std::map<int64_t, int64_t>> all;
  Random random(kSeed);
  constexpr int64_t kSizes[] = {1, 8, 64, 512};
  for (int turn = 0; turn < 6; ++turn) {
    std::map<int64_t, int64_t> sizes = SizeVariablesOf(source);
    int64_t place = 0;
    for (auto& [variable, size] : sizes) {
      // Numbers of rows and columns are prime.
      const bool is_pixels = variable == 7 || variable == 9 || variable == 11 || variable == 13;
      if (is_pixels) {
        size = 14;
      } else if (turn == 0) {
        size = 64;
      } else if (turn < 3) {
        size = (place++ + turn) % 2 == 0 ? 16 : 256;
      } else {
        size = kSizes[random.Integer(0, 3)];
      }
    }
    all.push_back(std::move(sizes));
  }
  return all;
}

bool IsKernel(const TensorType& type) {
  return type.rank() == 4 && (type.shape[2] == 1 || type.shape[2] == 3);
}

// Sets of inputs that may be constants, not all of them at once.
std::vector<unsigned> ConstantsToTry(const Graph& source) {
  unsigned kernels = 0;
  const size_t count = source.inputs().size();
  for (size_t i = 0; i < count; ++i) {
    if (IsKernel(source.type(source.inputs()[i]))) kernels |= 1u << i;
  }
  const bool is_image = count > 0 && source.type(source.inputs()[0]).rank() == 4;
  if (is_image) return {kernels};
  std::vector<unsigned> sets;
  for (unsigned set = 0; set + 1 < 1u << count; ++set) sets.push_back(set);
  return sets;
}

std::vector<Graph> NeighboursOf(const Graph& graph, absl::Span<const Rule* const> rules,
                                std::set<std::string>* used) {
  std::vector<Graph> neighbours;
  for (const Rule* rule : rules) {
    if (rule->always_wins) continue;
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      if (graph.node(node).op != rule->root) continue;
      for (const Rewrite& rewrite : rule->match(*rule, graph, node)) {
        const auto applied = Apply(graph, rewrite);
        PLAIT_CHECK(applied.ok());
        auto normal = NormalForm(*applied);
        if (!normal) continue;
        used->insert(std::string(rule->name));
        neighbours.push_back(*std::move(normal));
      }
    }
  }
  return neighbours;
}

std::vector<Instance> InstancesOf(const Law& law, const Rule* rule) {
  std::vector<Instance> instances;
  std::set<std::string> used;
  for (const auto& sizes : SizesToTry(law.source)) {
    const auto source = AtSizes(law.source, sizes);
    if (!source.ok()) continue;
    for (const unsigned constants : ConstantsToTry(law.source)) {
      const std::optional<Graph> normal = NormalForm(WithConstants(*source, constants));
      if (!normal) continue;
      for (Graph& made : NeighboursOf(*normal, {&rule, 1}, &used)) {
        instances.push_back({*normal, std::move(made)});
      }
    }
  }
  return instances;
}

// Whether the rules make of the source what is as cheap as the target, on both machines.
bool Reaches(const Instance& instance, absl::Span<const Rule* const> rules,
             std::set<std::string>* used) {
  const Costs wanted = CostsOf(instance.target);
  Costs least = CostsOf(instance.source);
  std::set<Fingerprint> seen = {instance.source.fingerprint()};
  std::vector<Graph> layer = {instance.source};
  for (int step = 0; step < kStepsMax && seen.size() < kReachedMax; ++step) {
    std::vector<Graph> next;
    for (const Graph& graph : layer) {
      for (Graph& neighbour : NeighboursOf(graph, rules, used)) {
        if (!seen.insert(neighbour.fingerprint()).second) continue;
        const Costs costs = CostsOf(neighbour);
        for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], costs[i]);
        next.push_back(std::move(neighbour));
      }
    }
    if (!IsCheaperSomewhere(wanted, least, 0.999)) return true;
    layer = std::move(next);
  }
  return !IsCheaperSomewhere(wanted, least, 0.999);
}

class Selector {
 public:
  LawSelection selection;

  void LookAt(size_t place, Law law) {
    SelectedLaw& selected = selection.laws[place];
    auto pattern = PatternOf(law);
    if (!pattern.ok()) return Drop(&selected, LawVerdict::kNoRule, pattern.status().message());
    const absl::Status proven = VerifyGeneral(law, kSeed + 1);
    if (!proven.ok()) return Drop(&selected, LawVerdict::kNoRule, proven.message());
    selected.id = pattern->id;
    if (!kept_ids_.insert(selected.id).second) {
      return Drop(&selected, LawVerdict::kByAnother, "is the same in its general form");
    }
    const auto alone = LawRules::Parse(PrintLaws({law}));
    PLAIT_CHECK(alone.ok());
    const std::vector<Instance> instances = InstancesOf(law, (*alone)->rules()[0]);
    std::vector<const Instance*> open;
    size_t equal = 0;
    for (const Instance& instance : instances) {
      if (instance.source.fingerprint() == instance.target.fingerprint()) {
        ++equal;
      } else if (IsCheaperSomewhere(CostsOf(instance.target), CostsOf(instance.source), 0.999)) {
        open.push_back(&instance);
      }
    }
    if (equal == instances.size()) {
      return Drop(&selected, LawVerdict::kNormalForm,
                  instances.empty() ? "no graph in normal form has its source"
                                    : "both sides are one graph in normal form");
    }
    if (open.empty()) {
      return Drop(&selected, LawVerdict::kNeverCheaper,
                  absl::StrCat("at none of ", instances.size(), " places"));
    }
    if (IsCovered(open, AllRules(), &selected, LawVerdict::kByHand)) return;
    if (IsCovered(open, Known(), &selected, LawVerdict::kByAnother)) return;
    selected.verdict = LawVerdict::kSearched;
    selected.reason = absl::StrCat("cheaper at ", open.size(), " of ", instances.size(), " places");
    law.evidence = absl::StrCat(selected.name, ", ", law.evidence);
    law.name = selected.id;
    selection.rules.push_back(std::move(law));
    auto rules = LawRules::Parse(PrintLaws(selection.rules));
    PLAIT_CHECK(rules.ok());
    kept_ = *std::move(rules);
  }

 private:
  static void Drop(SelectedLaw* selected, LawVerdict verdict, absl::string_view reason) {
    selected->verdict = verdict;
    selected->reason = std::string(reason);
  }

  std::vector<const Rule*> Known() const {
    std::vector<const Rule*> rules(AllRules().begin(), AllRules().end());
    if (kept_ != nullptr) rules.insert(rules.end(), kept_->rules().begin(), kept_->rules().end());
    return rules;
  }

  static bool IsCovered(absl::Span<const Instance* const> open, absl::Span<const Rule* const> rules,
                        SelectedLaw* selected, LawVerdict verdict) {
    std::set<std::string> used;
    for (const Instance* instance : open) {
      if (!Reaches(*instance, rules, &used)) return false;
    }
    Drop(selected, verdict, absl::StrJoin(used, " "));
    return true;
  }

  std::set<std::string> kept_ids_;
  std::unique_ptr<const LawRules> kept_;
};

Law Reversed(Law law) {
  std::swap(law.source, law.target);
  return law;
}

}  // namespace

std::vector<Law> DirectedLaws(const std::vector<Law>& laws) {
  std::vector<Law> directed;
  std::set<std::string> ids;
  for (const Law& law : laws) {
    const Law general = Generalized(law, kSeed);
    for (Law& side : std::vector<Law>{general, Reversed(general)}) {
      const auto pattern = PatternOf(side);
      if (!pattern.ok() || !VerifyGeneral(side, kSeed + 1).ok() || !ids.insert(pattern->id).second)
        continue;
      side.name = pattern->id;
      directed.push_back(std::move(side));
    }
  }
  return directed;
}

absl::StatusOr<std::vector<Law>> ReadGeneratedLaws(const std::string& folder) {
  std::vector<Law> laws;
  for (const char* core : {"deep", "matrix", "sum", "image"}) {
    std::ifstream file(absl::StrCat(folder, "/", core, ".txt"));
    if (!file) return absl::NotFoundError(absl::StrCat(folder, " has no ", core, ".txt"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Law> of_core, ParseLaws(text));
    laws.insert(laws.end(), of_core.begin(), of_core.end());
  }
  return laws;
}

LawSelection SelectLaws(const std::vector<Law>& laws) {
  Selector selector;
  std::vector<std::pair<size_t, Law>> directed;
  for (const Law& law : laws) {
    const Law general = Generalized(law, kSeed);
    directed.emplace_back(selector.selection.laws.size(), general);
    selector.selection.laws.push_back({law.name, ""});
    directed.emplace_back(selector.selection.laws.size(), Reversed(general));
    selector.selection.laws.push_back({law.name + "_back", ""});
  }
  // What a small law says need not be said by a large one.
  std::stable_sort(directed.begin(), directed.end(), [](const auto& a, const auto& b) {
    const auto nodes = [](const Law& law) {
      return law.source.node_count() + law.target.node_count();
    };
    return nodes(a.second) < nodes(b.second);
  });
  for (auto& [place, law] : directed) selector.LookAt(place, std::move(law));
  return std::move(selector.selection);
}

std::string PrintSelection(const LawSelection& selection) {
  std::array<int, kLawVerdicts> counts{};
  for (const SelectedLaw& law : selection.laws) ++counts[static_cast<int>(law.verdict)];
  std::string text =
      "# Laws in both directions, and whether a search may ask them: made by\n"
      "# build/select_rules.\n";
  for (int i = 0; i < kLawVerdicts; ++i) {
    absl::StrAppendFormat(&text, "# %-14s %4d\n", kVerdictNames[i], counts[i]);
  }
  for (const SelectedLaw& law : selection.laws) {
    absl::StrAppendFormat(&text, "%-16s %-12s %-13s | %s\n", law.name,
                          law.id.empty() ? "-" : law.id,
                          kVerdictNames[static_cast<int>(law.verdict)], law.reason);
  }
  return text;
}

}  // namespace plait
