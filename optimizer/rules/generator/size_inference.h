#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/attributes.h"
#include "optimizer/ir/op_kind.h"

namespace plait {

// A size: the sum of terms. A term is a variable, or what a window makes of one.
using SymbolicSize = std::vector<int>;
using SymbolicSizes = std::vector<SymbolicSize>;  // of a tensor

// Types over sizes that are variables: operators make some of them equal (union and find), a
// Concat makes sums, a Split takes one apart. Not thread-safe.
class SizeInference {
 public:
  // How an operator is used.
  struct Use {
    OpKind op;
    const Attributes& attributes;
    int outputs = 1;
    // A Split's first part: so many terms; 0: half of them, and both halves are equal.
    size_t first_part = 0;
  };

  int NewTerm();
  int Fixed(int64_t size);  // the term of a size that is no variable
  int Root(int term) const;
  int64_t fixed(int term) const { return fixed_[Root(term)]; }  // 0: a variable

  // Appends the sizes of what the operator makes; false for types that cannot be.
  bool Step(const Use& use, absl::Span<const SymbolicSizes> inputs,
            std::vector<SymbolicSizes>* values);

  // Makes both equal; false where they cannot be.
  bool Equal(const SymbolicSizes& a, const SymbolicSizes& b);

  // What windows made of variables that became equal is equal. False when the terms of windows had
  // to be variables.
  bool Close();

  bool IsWindow(int term) const;

 private:
  bool Join(int a, int b);
  bool EqualSize(const SymbolicSize& a, const SymbolicSize& b);
  SymbolicSize Window(int key, const SymbolicSize& size);
  bool Conv(const Use& use, const SymbolicSizes& x, const SymbolicSizes& w, SymbolicSizes* y);
  bool Concat(const Use& use, const SymbolicSizes& a, const SymbolicSizes& b, SymbolicSizes* y);
  bool Split(const Use& use, const SymbolicSizes& x, std::vector<SymbolicSizes>* values);

  std::vector<int> parents_;
  std::vector<int64_t> fixed_;  // 0: a variable
  std::map<int64_t, int> literals_;
  std::map<std::pair<int, int>, int> windows_;  // of a kind of window and a term
};

// What a law's text calls its variables: different numbers, none of which is a kernel's size.
class SizeNumbers {
 public:
  // The number of a term of an input, in the order in which they are asked for; its size where it
  // is fixed; 0 where there is none: what a window makes is no variable, or numbers ran out.
  int64_t Of(const SizeInference& inference, int term, int axis);

 private:
  std::map<int, int64_t> numbers_;  // by root
  size_t plain_ = 0;
  size_t images_ = 0;
};

}  // namespace plait
