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
  // Of laws of one size those of many inputs first, of which others are special cases.
  const auto order = [&](const Class& graphs_of_class) {
    const size_t steps =
        graphs_of_class[0]->sketch.steps.size() + graphs_of_class[1]->sketch.steps.size();
    const size_t inputs = InputsRead(core, graphs_of_class[0]->sketch).size();
    return std::make_pair(steps, core.inputs.size() - inputs);
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
        if (is_common || IsKnown(*graphs[a], *graphs[b])) link[root(b)] = root(a);
      }
    }
    for (size_t b = 1; b < graphs.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (ShareAStep(*graphs[a], *graphs[b])) continue;
        if (root(a) == root(b)) {
          ++found.implied;
        } else if (Add(*graphs[a], *graphs[b])) {
          link[root(b)] = root(a);
        }
      }
    }
  }

 private:
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

  // The law and what becomes of it where two inputs are the same.
  void Know(const Sketch& a, const Sketch& b) {
    known_.insert(TextOf(a, b, AllDifferent()));
    for (size_t i = 0; i < core_.inputs.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (core_.inputs[i] != core_.inputs[j]) continue;
        std::vector<int> same = AllDifferent();
        same[i] = static_cast<int>(j);
        known_.insert(TextOf(a, b, same));
      }
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
    Know(source.sketch, target);
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
