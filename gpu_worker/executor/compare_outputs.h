#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/cost/equivalence.h"
#include "optimizer/ir/tensor.h"

namespace plait {

// How the outputs of a candidate relate to those of the original. An output that never changed, or
// is NaN everywhere, makes the verdict inconclusive, because its equality says nothing.
// One value whatever the input is what a model with dead weights gives: every rewrite would pass.
struct OutputComparison {
  Equivalence equivalence;
  std::string reason;  // why not equivalent; empty when it is
};

// Compares outputs of two executions, over several inputs. Not thread-safe.
class OutputComparer {
 public:
  // Float outputs differ beyond this error, of an output or of a channel (see Equivalence);
  // integers and bools differ when they are not equal.
  explicit OutputComparer(double rel_error_max) : rel_error_max_(rel_error_max) {}

  // The outputs of both for one input. A different number or type of outputs, a NaN or infinity on
  // one side only, are differences.
  // REQUIRES: the originals of all calls have the same outputs, which hold numbers.
  void Add(absl::Span<const Tensor> original, absl::Span<const Tensor> candidate);

  // What all inputs so far say: one difference is enough to be different, and equivalence needs
  // every output to have shown two different values.
  OutputComparison Result() const;

 private:
  // What is known of one output from all inputs so far.
  struct Output {
    bool is_alive = false;  // saw two different values
    bool has_first = false;
    double first = 0;        // its very first element
    int64_t long_first = 0;  // the same, exactly, of an integer of 8 bytes
    OutputError error;
  };

  // The largest values and errors along an output's channels, for one input.
  struct Channels {
    std::vector<double> largest;
    std::vector<double> error;
    double squares = 0;  // the sum of (a-b)^2 over all channels
  };

  void Compare(size_t index, const Tensor& original, const Tensor& candidate);
  Channels CompareElements(size_t index, const Tensor& original, const Tensor& candidate);
  void Judge(size_t index, const TensorType& type, const Channels& channels);
  // Keeps the first reason: what follows a difference is often its consequence.
  void SetDifferent(std::string reason);
  // The same for what no tolerance accepts, in one output.
  void SetHopeless(size_t index, std::string reason);

  double rel_error_max_;
  Equivalence errors_;
  std::string difference_;
  std::vector<Output> outputs_;
};

}  // namespace plait
