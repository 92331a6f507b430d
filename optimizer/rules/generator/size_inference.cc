#include "optimizer/rules/generator/size_inference.h"

#include <algorithm>
#include <iterator>

namespace plait {
namespace {

// Images are [N,C,H,W]; their windows are 3x3, so rows and columns are more than that.
constexpr int64_t kSizes[] = {2, 4, 5, 6, 8, 10, 12, 14, 15, 16, 18, 20};
constexpr int64_t kImageSizes[] = {7, 9, 11, 13, 17, 19};

}  // namespace

int SizeInference::NewTerm() {
  parents_.push_back(static_cast<int>(parents_.size()));
  fixed_.push_back(0);
  return parents_.back();
}

int SizeInference::Fixed(int64_t size) {
  const auto [place, is_new] = literals_.try_emplace(size, 0);
  if (is_new) {
    place->second = NewTerm();
    fixed_[place->second] = size;
  }
  return place->second;
}

int SizeInference::Root(int term) const {
  while (parents_[term] != term) term = parents_[term];
  return term;
}

bool SizeInference::Equal(const SymbolicSizes& a, const SymbolicSizes& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!EqualSize(a[i], b[i])) return false;
  }
  return true;
}

bool SizeInference::Close() {
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

bool SizeInference::IsWindow(int term) const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [&](const auto& window) { return Root(window.second) == Root(term); });
}

bool SizeInference::Join(int a, int b) {
  a = Root(a);
  b = Root(b);
  if (a == b) return true;
  if (fixed_[a] != 0 && fixed_[b] != 0) return false;
  if (fixed_[a] != 0) std::swap(a, b);
  parents_[a] = b;
  return true;
}

bool SizeInference::EqualSize(const SymbolicSize& a, const SymbolicSize& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Join(a[i], b[i])) return false;
  }
  return true;
}

SymbolicSize SizeInference::Window(int key, const SymbolicSize& size) {
  if (size.size() != 1) return {};
  const auto [place, is_new] = windows_.try_emplace({key, size[0]}, 0);
  if (is_new) place->second = NewTerm();
  return {place->second};
}

bool SizeInference::Conv(const Use& use, const SymbolicSizes& x, const SymbolicSizes& w,
                         SymbolicSizes* y) {
  if (!EqualSize(x[1], w[1]) || w[2].size() != 1) return false;
  const int64_t kernel = fixed(w[2][0]);
  const int64_t stride = use.attributes.Ints("strides", {1, 1})[0];
  const int64_t pad = use.attributes.Ints("pads", {0, 0, 0, 0})[0];
  *y = {x[0], w[0], x[2], x[3]};
  // What is taken off each row: windows that fit the row leave it as it is.
  const int64_t shrinks = kernel - 1 - 2 * pad;
  if (stride == 1 && shrinks == 0) return true;
  const int key = static_cast<int>(stride * 100 + shrinks + 50);
  (*y)[2] = Window(key, x[2]);
  (*y)[3] = Window(key, x[3]);
  return !(*y)[2].empty() && !(*y)[3].empty();
}

bool SizeInference::Concat(const Use& use, const SymbolicSizes& a, const SymbolicSizes& b,
                           SymbolicSizes* y) {
  const size_t axis = static_cast<size_t>(use.attributes.Int("axis", 0));
  *y = a;
  for (size_t i = 0; i < a.size(); ++i) {
    if (i != axis && !EqualSize(a[i], b[i])) return false;
  }
  (*y)[axis].insert((*y)[axis].end(), b[axis].begin(), b[axis].end());
  return true;
}

bool SizeInference::Split(const Use& use, const SymbolicSizes& x,
                          std::vector<SymbolicSizes>* values) {
  const size_t axis = static_cast<size_t>(use.attributes.Int("axis", 0));
  const SymbolicSize whole = x[axis];
  const bool halves = use.first_part == 0;
  if (use.outputs != 2 || (halves && whole.size() % 2 != 0)) return false;
  const size_t first = halves ? whole.size() / 2 : use.first_part;
  if (first >= whole.size()) return false;
  const auto middle = whole.begin() + static_cast<int64_t>(first);
  const SymbolicSize parts[] = {{whole.begin(), middle}, {middle, whole.end()}};
  for (const SymbolicSize& part : parts) {
    SymbolicSizes sizes = x;
    sizes[axis] = part;
    values->push_back(std::move(sizes));
  }
  return !halves || EqualSize(parts[0], parts[1]);
}

bool SizeInference::Step(const Use& use, absl::Span<const SymbolicSizes> inputs,
                         std::vector<SymbolicSizes>* values) {
  const SymbolicSizes& a = inputs.front();
  const SymbolicSizes& b = inputs.back();
  SymbolicSizes y = a;
  bool fits = true;
  switch (use.op) {
    case OpKind::kMatMul:
      fits = EqualSize(a[1], b[0]);
      y = {a[0], b[1]};
      break;
    case OpKind::kConv:
      fits = Conv(use, a, b, &y);
      break;
    case OpKind::kConcat:
      fits = Concat(use, a, b, &y);
      break;
    case OpKind::kSplit:
      return Split(use, a, values);
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
  values->push_back(std::move(y));
  return fits;
}

int64_t SizeNumbers::Of(const SizeInference& inference, int term, int axis) {
  if (inference.fixed(term) != 0) return inference.fixed(term);
  if (inference.IsWindow(term)) return 0;
  const auto [place, is_new] = numbers_.try_emplace(inference.Root(term), 0);
  if (is_new && axis >= 2) {
    if (images_ < std::size(kImageSizes)) place->second = kImageSizes[images_++];
  } else if (is_new) {
    if (plain_ < std::size(kSizes)) place->second = kSizes[plain_++];
  }
  return place->second;
}

}  // namespace plait
