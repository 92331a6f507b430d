#include <algorithm>
#include <cmath>

#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/shape_checks.h"

// Problems that carry a program or tables, which are in the kernel's text.

namespace plait::cuda {
namespace {

// 4096: the compiler sees all of a program at once.
constexpr int64_t kProgramValuesMax = 4096;
// The same of tables: 1,024 rows of a cubic resize have 4,096.
constexpr size_t kTapsMax = 16384;

bool IsAxis(const ResizeProblem::Axis& axis) {
  return axis.taps >= 1 && !axis.elements.empty() && axis.elements.size() <= kTapsMax &&
         axis.elements.size() % static_cast<size_t>(axis.taps) == 0 &&
         axis.weights.size() == axis.elements.size() &&
         std::all_of(axis.elements.begin(), axis.elements.end(),
                     [&](int64_t element) { return element >= 0 && element < axis.input; }) &&
         std::all_of(axis.weights.begin(), axis.weights.end(),
                     [](float weight) { return std::isfinite(weight); });
}

}  // namespace

Result<ProblemShape> Shape(const RecurrenceProblem& p) {
  ProblemShape shape;
  int64_t values = 0;
  for (const int64_t rows : p.inputs) {
    if (!ProductFits({rows, p.columns})) return Invalid("recurrence: sizes out of range");
    values += rows;
    shape.inputs.push_back(rows * p.columns);
    if (values > kProgramValuesMax) return Invalid("recurrence: too many rows");
  }
  if (p.inputs.empty() || values + static_cast<int64_t>(p.steps.size()) > kProgramValuesMax) {
    return Invalid("recurrence: no inputs, or too many steps");
  }
  const Result<std::vector<Expression>> steps = StepsOf(p);
  if (!steps.ok()) return steps.error();
  for (const Expression& step : steps.value()) shape.flops += step.operations() * p.columns;
  values += static_cast<int64_t>(p.steps.size());
  for (const std::vector<int64_t>& rows : p.outputs) {
    const bool are_values = std::all_of(
        rows.begin(), rows.end(), [&](int64_t value) { return value >= 0 && value < values; });
    if (rows.empty() || !are_values ||
        !ProductFits({static_cast<int64_t>(rows.size()), p.columns})) {
      return Invalid("recurrence: an output has no rows, or rows that there are not");
    }
    shape.outputs.push_back(static_cast<int64_t>(rows.size()) * p.columns);
  }
  return shape;
}

Result<ProblemShape> Shape(const ResizeProblem& p) {
  if (!ProductFits({p.n, p.c, p.rows.input, p.columns.input})) {
    return Invalid("resize: sizes out of range");
  }
  if (!IsAxis(p.rows) || !IsAxis(p.columns)) {
    return Invalid("resize: taps that do not fit an axis, or too many");
  }
  if (!ProductFits({p.n, p.c, p.rows.output(), p.columns.output()})) {
    return Invalid("resize: output too big");
  }
  ProblemShape shape;
  shape.inputs = {p.n * p.c * p.rows.input * p.columns.input};
  shape.outputs = {p.n * p.c * p.rows.output() * p.columns.output()};
  shape.flops = 2 * shape.outputs[0] * p.rows.taps * p.columns.taps;
  return shape;
}

}  // namespace plait::cuda
