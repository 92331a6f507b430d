#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/cost/equivalence.h"
#include "optimizer/ir/tensor.h"

namespace plait {

// How the outputs of a candidate relate to those of the original. An output that never changed
// makes the verdict inconclusive, because its equality says nothing.
// One value whatever the input is what a model with dead weights gives: every rewrite would pass.
struct OutputComparison {
  Equivalence equivalence;
  std::string reason;  // why not equivalent; empty when it is
};

// Compares outputs of two executions, over several inputs. Not thread-safe.
class OutputComparer {
 public:
  // Float outputs differ beyond this relative error; integers and bools differ when they are not
  // equal.
  // The error of an output is its largest difference over its own largest value, not element by
  // element.
  explicit OutputComparer(double rel_error_max) : rel_error_max_(rel_error_max) {}

  // The outputs of both for one input. A different number or type of outputs, a NaN or infinity on
  // one side only, are differences.
  // REQUIRES: the originals of all calls have the same outputs.
  void Add(absl::Span<const Tensor> original, absl::Span<const Tensor> candidate);

  // What all inputs so far say: one difference is enough to be different, and equivalence needs
  // every output to have shown two different values.
  OutputComparison Result() const;

 private:
  void Compare(size_t index, const Tensor& original, const Tensor& candidate);
  // Keeps the first reason: what follows a difference is often its consequence.
  void SetDifferent(std::string reason);

  double rel_error_max_;
  OutputComparison comparison_;
  std::string difference_;
  std::vector<bool> alive_;           // by output: saw two different values
  std::vector<double> first_values_;  // by output: its very first element
};

}  // namespace plait
