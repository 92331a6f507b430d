#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The larger and the smaller one, and NaN where either is: what a ReLU or a pool of NaN gives.
double Maximum(double a, double b);
double Minimum(double a, double b);

// An elementwise expression such as "relu(add(x0,mul(x1,0.5)))": read, evaluated in double, or
// written as an expression of the kernel language. Immutable.
// The grammar, with blanks allowed between its parts:
//   expression = "x" digits | number | name "(" expression { "," expression } ")"
// with the names and arities listed at ElementwiseProblem. Thread-safe, being immutable.
class Expression {
 public:
  // `inputs`: how many x0, x1 ... there are, all floats; or the type of each. Numbers are floats.
  // Inputs may be left unused or be used twice. Limits: 256 nodes, nested 64 deep.
  // Errors: kInvalid, with the place; behind a call whose arguments are not of its types too.
  static Result<Expression> Parse(std::string_view text, size_t inputs);
  static Result<Expression> Parse(std::string_view text, const std::vector<ElementType>& inputs);
  // That of the problem, whose result is not looked at.
  static Result<Expression> Of(const ElementwiseProblem& problem);

  // REQUIRES: as many numbers as Parse() was told. Follows C's math functions, so that max and min
  // of a NaN and a number are the number. A bool is 0 or 1. Integers are right as far as a double
  // holds them, and do not wrap around.
  double Evaluate(const std::vector<double>& inputs) const;

  // Which inputs it reads, each time that it does.
  std::vector<int> InputsRead() const;

  // In the language of generated kernels, where input i is called "x<i>", of its type.
  // Fully parenthesised, so that it can stand anywhere; the functions are those of KernelPrelude()
  // and of CUDA's math library in single precision, and where anything is no float those of
  // ElementFunctions() (generated/elements.h).
  std::string Source() const;

  // Of the result.
  ElementType type() const;
  // Whether no input, no number and nothing in between is anything but a float, or is converted.
  bool is_of_floats() const;

  // How many functions are applied per element; an exp counts as one, like an add.
  int operations() const;

  // Whether a value below zero may have no image: a log, square root, power or quotient occurs.
  // Test data is drawn by it: it errs on the safe side, as for a quotient of harmless numbers.
  bool needs_positive_inputs() const;

 private:
  // Arguments come before the nodes that read them, as a recursive descent finishes them first.
  struct Node {
    int function = -1;  // index of the function table; -1: an input, -2: a number
    int input = 0;
    double number = 0;
    std::vector<int> arguments;  // indices of nodes_
    ElementType type = ElementType::kFloat;
  };
  friend class ExpressionReader;

  double EvaluateNode(int node, const std::vector<double>& inputs) const;
  std::string NodeSource(int node) const;

  std::vector<Node> nodes_;  // the root last
};

// The steps of a recurrence, of which each may read the values before its own.
// Errors: those of Parse(), also where a step gives no float.
Result<std::vector<Expression>> StepsOf(const RecurrenceProblem& problem);

// One of the activations of a problem, in double and as a call in the kernel language: "" for
// kNone, else the name of a function of one float.
double Activate(Activation activation, double x);
const char* ActivationFunction(Activation activation);

}  // namespace plait::cuda
