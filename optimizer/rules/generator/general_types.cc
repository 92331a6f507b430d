#include "optimizer/rules/generator/general_types.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plait {
namespace {

// Images are [N,C,H,W]; their windows are 3x3, so rows and columns are more than that.
constexpr int64_t kSizes[] = {2, 4, 5, 6, 8, 10, 12, 14, 15, 16, 18, 20};
constexpr int64_t kImageSizes[] = {7, 9, 11, 13, 17, 19};

// A size: the sum of terms. A term is a variable, or what a window makes of one.
using Size = std::vector<int>;
using Sizes = std::vector<Size>;  // of a tensor

class Inference {
 public:
  int NewTerm() {
    parents_.push_back(static_cast<int>(parents_.size()));
    fixed_.push_back(0);
    return parents_.back();
  }

  int Fixed(int64_t size) {
    const auto [place, is_new] = literals_.try_emplace(size, 0);
    if (is_new) {
      place->second = NewTerm();
      fixed_[place->second] = size;
    }
    return place->second;
  }

  int Root(int term) const {
    while (parents_[term] != term) term = parents_[term];
    return term;
  }

  int64_t fixed(int term) const { return fixed_[Root(term)]; }

  // False for types that cannot be.
  bool Run(const Core& core, const Sketch& sketch, std::vector<Sizes> values,
           std::vector<Sizes>* outputs) {
    for (const Sketch::Step& step : sketch.steps) {
      if (!Step(core.operators[step.op], step, &values)) return false;
    }
    for (const int output : sketch.outputs) outputs->push_back(values[output]);
    return true;
  }

  bool Equal(const Sizes& a, const Sizes& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!EqualSize(a[i], b[i])) return false;
    }
    return true;
  }

  // What windows made of variables that became equal is equal. False when the terms of windows had
  // to be variables.
  bool Close() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [key, term] : windows_) {
        for (const auto& [other_key, other] : windows_) {
          if (key.first != other_key.first || Root(key.second) != Root(other_key.second)) continue;
          if (Root(term) == Root(other)) continue;
          if (!Join(term, other)) return false;
          changed = true;
        }
      }
    }
    return true;
  }

  bool IsWindow(int term) const {
    return std::any_of(windows_.begin(), windows_.end(),
                       [&](const auto& window) { return Root(window.second) == Root(term); });
  }

 private:
  bool Join(int a, int b) {
    a = Root(a);
    b = Root(b);
    if (a == b) return true;
    if (fixed_[a] != 0 && fixed_[b] != 0) return false;
    if (fixed_[a] != 0) std::swap(a, b);
    parents_[a] = b;
    return true;
  }

  bool EqualSize(const Size& a, const Size& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Join(a[i], b[i])) return false;
    }
    return true;
  }

  Size Window(int key, const Size& size) {
    if (size.size() != 1) return {};
    const auto [place, is_new] = windows_.try_emplace({key, size[0]}, 0);
    if (is_new) place->second = NewTerm();
    return {place->second};
  }

  bool Conv(const CoreOperator& core_operator, const Sizes& x, const Sizes& w, Sizes* y) {
    if (!EqualSize(x[1], w[1]) || w[2].size() != 1) return false;
    const int64_t kernel = fixed(w[2][0]);
    const int64_t stride = core_operator.attributes.Ints("strides", {1, 1})[0];
    const int64_t pad = core_operator.attributes.Ints("pads", {0, 0, 0, 0})[0];
    *y = {x[0], w[0], x[2], x[3]};
    // What is taken off each row: windows that fit the row leave it as it is.
    const int64_t shrinks = kernel - 1 - 2 * pad;
    if (stride == 1 && shrinks == 0) return true;
    const int key = static_cast<int>(stride * 100 + shrinks + 50);
    (*y)[2] = Window(key, x[2]);
    (*y)[3] = Window(key, x[3]);
    return !(*y)[2].empty() && !(*y)[3].empty();
  }

  bool Concat(const CoreOperator& core_operator, const Sizes& a, const Sizes& b, Sizes* y) {
    const size_t axis = static_cast<size_t>(core_operator.attributes.Int("axis", 0));
    *y = a;
    for (size_t i = 0; i < a.size(); ++i) {
      if (i != axis && !EqualSize(a[i], b[i])) return false;
    }
    (*y)[axis].insert((*y)[axis].end(), b[axis].begin(), b[axis].end());
    return true;
  }

  bool Split(const CoreOperator& core_operator, const Sizes& x, Sizes* half) {
    const size_t axis = static_cast<size_t>(core_operator.attributes.Int("axis", 0));
    const Size& whole = x[axis];
    if (whole.size() % 2 != 0) return false;
    const auto middle = whole.begin() + static_cast<int64_t>(whole.size() / 2);
    *half = x;
    (*half)[axis] = Size(whole.begin(), middle);
    return EqualSize((*half)[axis], Size(middle, whole.end()));
  }

  bool Step(const CoreOperator& core_operator, const Sketch::Step& step,
            std::vector<Sizes>* values) {
    const Sizes a = (*values)[step.inputs[0]];
    const Sizes b = (*values)[step.inputs.back()];
    Sizes y = a;
    bool fits = true;
    switch (core_operator.op) {
      case OpKind::kMatMul:
        fits = EqualSize(a[1], b[0]);
        y = {a[0], b[1]};
        break;
      case OpKind::kConv:
        fits = Conv(core_operator, a, b, &y);
        break;
      case OpKind::kConcat:
        fits = Concat(core_operator, a, b, &y);
        break;
      case OpKind::kSplit:
        fits = Split(core_operator, a, &y);
        break;
      case OpKind::kTranspose:
        y = {a[1], a[0]};
        break;
      case OpKind::kPad:
        y[2] = {Fixed(3)};
        y[3] = {Fixed(3)};
        break;
      case OpKind::kAdd:
      case OpKind::kMul:
        fits = Equal(a, b);
        break;
      default:
        break;
    }
    for (int i = 0; i < core_operator.outputs; ++i) values->push_back(y);
    return fits;
  }

  std::vector<int> parents_;
  std::vector<int64_t> fixed_;  // 0: a variable
  std::map<int64_t, int> literals_;
  std::map<std::pair<int, int>, int> windows_;  // of a kind of window and a term
};

}  // namespace

std::optional<std::vector<TensorType>> GeneralTypes(const Core& core, const Sketch& source,
                                                    const Sketch& target,
                                                    absl::Span<const int> inputs) {
  Inference inference;
  std::vector<Sizes> values;
  for (const TensorType& type : core.inputs) {
    Sizes sizes;
    for (const int64_t size : type.shape) {
      sizes.push_back({size == 1 || size == 3 ? inference.Fixed(size) : inference.NewTerm()});
    }
    values.push_back(std::move(sizes));
  }
  std::vector<Sizes> before;
  std::vector<Sizes> after;
  if (!inference.Run(core, source, values, &before)) return std::nullopt;
  if (!inference.Run(core, target, values, &after)) return std::nullopt;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!inference.Equal(before[i], after[i])) return std::nullopt;
  }
  if (!inference.Close()) return std::nullopt;
  std::map<int, int64_t> numbers;
  size_t plain = 0;
  size_t images = 0;
  std::vector<TensorType> types;
  for (const int input : inputs) {
    TensorType type = core.inputs[input];
    for (int axis = 0; axis < type.rank(); ++axis) {
      const int term = values[input][axis][0];
      if (inference.fixed(term) != 0) {
        type.shape[axis] = inference.fixed(term);
        continue;
      }
      if (inference.IsWindow(term)) return std::nullopt;
      const auto [place, is_new] = numbers.try_emplace(inference.Root(term), 0);
      if (is_new && axis >= 2) {
        if (images == std::size(kImageSizes)) return std::nullopt;
        place->second = kImageSizes[images++];
      } else if (is_new) {
        if (plain == std::size(kSizes)) return std::nullopt;
        place->second = kSizes[plain++];
      }
      type.shape[axis] = place->second;
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace plait
