#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/attributes.h"
#include "optimizer/ir/op_kind.h"
#include "optimizer/ir/tensor.h"

namespace plait {

// An operator with its attributes, as the generator enumerates it. Relu stands for any function of
// one element: it is evaluated as an unknown one.
struct CoreOperator {
  OpKind op;
  Attributes attributes;
  int inputs = 1;
  int outputs = 1;
  bool commutes = false;
  std::optional<Tensor> constant = std::nullopt;  // a further input, the last
};

// What is enumerated together: operators, and the inputs that there are. Kernels are inputs of four
// dimensions with windows of 1x1 or 3x3, images other ones. Both keep apart: a Conv has one of
// each and makes an image, sums and Concat have operands of one kind.
struct Core {
  const char* name;
  std::vector<CoreOperator> operators;
  std::vector<TensorType> inputs;
  int operators_max;  // of a graph
  int outputs_max;
};

// Products, sums, Concat, Split, Transpose and a function on matrices, graphs of up to three
// operators.
Core MatrixCore();

// Products and sums of matrices only, graphs of up to four operators with one output.
Core DeepMatrixCore();

// Products, sums and Concat on four matrices, graphs of up to three operators with one output.
Core SumCore();

// Convolutions (stride 1 and 2, SAME and VALID), enlarged kernels, AveragePool, Concat, sums and a
// function on images, graphs of up to three operators.
Core ImageCore();

}  // namespace plait
