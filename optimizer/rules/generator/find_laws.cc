#include "optimizer/rules/generator/find_laws.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optimizer/rules/generator/enumerate.h"
#include "optimizer/rules/generator/general_types.h"
#include "optimizer/rules/generator/verify_law.h"

namespace plait {
namespace {

// Of a class the smallest graphs are paired; the others are larger ways to write them.
constexpr size_t kClassGraphsMax = 64;

using Class = std::vector<const Enumerated*>;

// The classes of two graphs and more, those with the smallest graphs first.
std::vector<Class> ClassesOf(const Core& core, const std::vector<Enumerated>& graphs) {
  std::map<Fingerprint, Class> by_fingerprint;
  for (const Enumerated& graph : graphs) {
    Fingerprint sum;
    for (const Fingerprint& output : graph.outputs) {
      sum = sum + FingerprintBuilder().Add(output).Finish();
    }
    by_fingerprint[sum].push_back(&graph);
  }
  const auto smaller = [](const Enumerated* a, const Enumerated* b) {
    return a->sketch.steps.size() < b->sketch.steps.size();
  };
  std::vector<Class> classes;
  for (auto& [fingerprint, graphs_of_class] : by_fingerprint) {
    if (graphs_of_class.size() < 2) continue;
    std::stable_sort(graphs_of_class.begin(), graphs_of_class.end(), smaller);
    if (graphs_of_class.size() > kClassGraphsMax) graphs_of_class.resize(kClassGraphsMax);
    classes.push_back(std::move(graphs_of_class));
  }
  // Those of many inputs first, of which others are special cases.
  const auto order = [&](const Class& graphs_of_class) {
    const size_t steps =
        graphs_of_class[0]->sketch.steps.size() + graphs_of_class[1]->sketch.steps.size();
    const size_t inputs = InputsRead(core, graphs_of_class[0]->sketch).size();
    return std::make_pair(core.inputs.size() - inputs, steps);
  };
  std::stable_sort(classes.begin(), classes.end(),
                   [&](const Class& a, const Class& b) { return order(a) < order(b); });
  return classes;
}

// Whether inputs of a type are read in their order: of all renamings of a class one at least has
// such a graph, and the others say the same.
bool NamesInOrder(const Core& core, const Sketch& sketch) {
  const std::vector<int> read = InputsRead(core, sketch);
  for (size_t i = 0; i < read.size(); ++i) {
    for (int earlier = 0; earlier < read[i]; ++earlier) {
      if (core.inputs[earlier] != core.inputs[read[i]]) continue;
      const auto end = read.begin() + static_cast<int64_t>(i);
      if (std::find(read.begin(), end, earlier) == end) return false;
    }
  }
  return true;
}

bool ShareAStep(const Enumerated& a, const Enumerated& b) {
  return std::any_of(a.steps.begin(), a.steps.end(), [&](const Fingerprint& step) {
    return std::find(b.steps.begin(), b.steps.end(), step) != b.steps.end();
  });
}

// Whether one step writes the output of both: then the law says that its operands are equal, which
// is a smaller law.
bool ShareTheirEnd(const Enumerated& a, const Enumerated& b) {
  return a.outputs.size() == 1 && !a.steps.empty() && !b.steps.empty() &&
         a.steps.back() == b.steps.back();
}

// `graph` with its outputs in the order of those of `other`.
Sketch InOrderOf(const Enumerated& graph, const Enumerated& other) {
  Sketch sketch = graph.sketch;
  for (size_t i = 0; i < other.outputs.size(); ++i) {
    const auto place = std::find(graph.outputs.begin(), graph.outputs.end(), other.outputs[i]);
    sketch.outputs[i] = graph.sketch.outputs[place - graph.outputs.begin()];
  }
  return sketch;
}

// Output by output, in an order that says nothing.
std::string Equations(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  std::vector<std::string> equations;
  for (size_t i = 0; i < left.size(); ++i) {
    equations.push_back(absl::StrCat(left[i], "=", right[i]));
  }
  std::sort(equations.begin(), equations.end());
  return absl::StrJoin(equations, ";");
}

class LawFinder {
 public:
  LawFinder(const Core& core, uint64_t seed, std::set<std::string>* known)
      : core_(core), seed_(seed), known_(*known) {}

  LawsFound found;

  void LookAt(const Class& graphs) {
    // Graphs that are linked follow from each other by laws that are known.
    std::vector<int> link(graphs.size());
    std::iota(link.begin(), link.end(), 0);
    const auto root = [&](int i) {
      while (link[i] != i) i = link[i];
      return i;
    };
    for (size_t b = 1; b < graphs.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        ++found.pairs;
        const bool is_common = ShareAStep(*graphs[a], *graphs[b]);
        found.common += is_common;
        const bool is_implied = is_common ? FollowsFromSmaller(*graphs[a], *graphs[b])
                                          : IsKnown(*graphs[a], *graphs[b]);
        if (is_implied) link[root(b)] = root(a);
      }
    }
    for (size_t b = 1; b < graphs.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (ShareAStep(*graphs[a], *graphs[b])) continue;
        if (root(a) == root(b)) {
          ++found.implied;
        } else if (IsKnown(*graphs[a], *graphs[b]) || Add(*graphs[a], *graphs[b])) {
          link[root(b)] = root(a);
        }
      }
    }
  }

 private:
  // Of graphs with a step in common: whether a law with fewer steps says that they are equal. What
  // a step in front makes may be needed as it is: an enlarged kernel has zeros at its border. So
  // the law must hold for anything in its place.
  bool FollowsFromSmaller(const Enumerated& a, const Enumerated& b) const {
    if (ShareTheirEnd(a, b)) return true;
    const Sketch other = InOrderOf(b, a);
    for (size_t i = 0; i < a.steps.size(); ++i) {
      const auto place = std::find(b.steps.begin(), b.steps.end(), a.steps[i]);
      if (place == b.steps.end()) continue;
      const int in_b = static_cast<int>(place - b.steps.begin());
      if (HoldsWithout(a.sketch, static_cast<int>(i), other, in_b)) return true;
    }
    return false;
  }

  bool HoldsWithout(const Sketch& a, int in_a, const Sketch& b, int in_b) const {
    if (core_.operators[a.steps[in_a].op].outputs != 1) return false;
    std::vector<int> inputs = AllDifferent();
    // The type of what the step makes.
    Sketch front{{a.steps.begin(), a.steps.begin() + in_a + 1}, {}};
    int made = static_cast<int>(inputs.size());
    for (int i = 0; i < in_a; ++i) made += core_.operators[a.steps[i].op].outputs;
    front.outputs = {made};
    const auto step = GraphOf(core_, front, inputs, core_.inputs);
    if (!step.ok()) return false;
    Core core = core_;
    core.inputs.push_back(step->type(step->outputs()[0]));
    inputs.push_back(static_cast<int>(inputs.size()));
    const auto left = GraphOf(core, WithoutStep(core_, a, in_a), inputs, core.inputs);
    const auto right = GraphOf(core, WithoutStep(core_, b, in_b), inputs, core.inputs);
    return left.ok() && right.ok() && AgreeAtAPoint(*left, *right, seed_ + 2);
  }

  // The law's text under the names of inputs that make it the smallest, sides in either order, for
  // inputs that are called the same where `same` says so.
  std::string TextOf(const Sketch& a, const Sketch& b, absl::Span<const int> same) const {
    std::vector<int> order(core_.inputs.size());
    std::iota(order.begin(), order.end(), 0);
    std::string smallest;
    do {
      std::vector<int> names;
      bool keeps_types = true;
      for (size_t i = 0; i < order.size(); ++i) {
        keeps_types = keeps_types && core_.inputs[i] == core_.inputs[order[i]];
        names.push_back(order[same[i]]);
      }
      if (!keeps_types) continue;
      const std::vector<std::string> left = SketchTexts(core_, a, names);
      const std::vector<std::string> right = SketchTexts(core_, b, names);
      const std::string text = std::min(Equations(left, right), Equations(right, left));
      if (smallest.empty() || text < smallest) smallest = text;
    } while (std::next_permutation(order.begin(), order.end()));
    return smallest;
  }

  std::vector<int> AllDifferent() const {
    std::vector<int> same(core_.inputs.size());
    std::iota(same.begin(), same.end(), 0);
    return same;
  }

  bool IsKnown(const Enumerated& a, const Enumerated& b) {
    const Sketch other = InOrderOf(b, a);
    const std::vector<int> names = AllDifferent();
    // Equal terms: the operands of a sum in two orders, or one graph that was found twice.
    if (SketchTexts(core_, a.sketch, names) == SketchTexts(core_, other, names)) return true;
    const bool is_known = known_.count(TextOf(a.sketch, other, names)) > 0;
    found.renamed += is_known;
    return is_known;
  }

  // The law and what becomes of it where inputs are the same.
  void Know(const Sketch& a, const Sketch& b, size_t next, std::vector<int>* same) {
    if (next == same->size()) {
      known_.insert(TextOf(a, b, *same));
      return;
    }
    for (size_t earlier = 0; earlier <= next; ++earlier) {
      if (core_.inputs[earlier] != core_.inputs[next]) continue;
      (*same)[next] = static_cast<int>(earlier);
      Know(a, b, next + 1, same);
    }
  }

  bool Add(const Enumerated& a, const Enumerated& b) {
    // The side that reads all inputs is the source, the larger one where both do.
    const std::vector<int> read_a = InputsRead(core_, a.sketch);
    const std::vector<int> read_b = InputsRead(core_, b.sketch);
    const bool b_first =
        read_b.size() > read_a.size() ||
        (read_b.size() == read_a.size() && b.sketch.steps.size() > a.sketch.steps.size());
    const Enumerated& source = b_first ? b : a;
    const Sketch target = InOrderOf(b_first ? a : b, source);
    const std::vector<int>& inputs = b_first ? read_b : read_a;
    for (const int input : b_first ? read_a : read_b) {
      if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) return false;
    }
    const auto types = GeneralTypes(core_, source.sketch, target, inputs);
    if (!types) {
      ++found.untyped;
      return false;
    }
    auto before = GraphOf(core_, source.sketch, inputs, *types);
    auto after = GraphOf(core_, target, inputs, *types);
    if (!before.ok() || !after.ok()) {
      ++found.untyped;
      return false;
    }
    Law law{absl::StrCat(core_.name, "_", found.laws.size() + 1), "", *std::move(before),
            *std::move(after)};
    const auto evidence = VerifyLaw(law, seed_ + 1);
    if (!evidence.ok()) {
      ++found.rejected;
      return false;
    }
    law.evidence = evidence->ToString();
    found.laws.push_back(std::move(law));
    std::vector<int> same = AllDifferent();
    Know(source.sketch, target, 0, &same);
    return true;
  }

  const Core& core_;
  const uint64_t seed_;
  std::set<std::string>& known_;
};

}  // namespace

absl::StatusOr<LawsFound> FindLaws(const Core& core, uint64_t seed, int64_t graphs_max,
                                   std::set<std::string>* known) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Enumerated> graphs, Enumerate(core, seed, graphs_max));
  const std::vector<Class> classes = ClassesOf(core, graphs);
  LawFinder finder(core, seed, known);
  finder.found.graphs = static_cast<int64_t>(graphs.size());
  for (const Class& graphs_of_class : classes) {
    if (std::none_of(graphs_of_class.begin(), graphs_of_class.end(),
                     [&](const Enumerated* graph) { return NamesInOrder(core, graph->sketch); })) {
      continue;
    }
    ++finder.found.classes;
    finder.LookAt(graphs_of_class);
  }
  return std::move(finder.found);
}

}  // namespace plait
