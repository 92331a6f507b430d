#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// An elementwise expression such as "relu(add(x0,mul(x1,0.5)))": read, evaluated in double, or
// written as an expression of the kernel language. Immutable.
class Expression {
 public:
  // `inputs`: how many x0, x1 ... there are. Errors: kInvalid, with the place.
  static Result<Expression> Parse(std::string_view text, size_t inputs);

  double Evaluate(const std::vector<double>& inputs) const;

  // In the language of generated kernels, where input i is called "x<i>", a float.
  std::string Source() const;

  int operations() const;

  // Whether a value below zero may have no image: a log, square root, power or quotient occurs.
  bool needs_positive_inputs() const;

 private:
  struct Node {
    int function = -1;  // index of the function table; -1: an input, -2: a number
    int input = 0;
    double number = 0;
    std::vector<int> arguments;  // indices of nodes_
  };
  friend class ExpressionReader;

  double EvaluateNode(int node, const std::vector<double>& inputs) const;
  std::string NodeSource(int node) const;

  std::vector<Node> nodes_;  // the root last
};

// One of the activations of a problem, in double and as a call in the kernel language: "" for
// kNone, else the name of a function of one float.
double Activate(Activation activation, double x);
const char* ActivationFunction(Activation activation);

}  // namespace plait::cuda
