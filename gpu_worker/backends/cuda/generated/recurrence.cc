#include <algorithm>
#include <set>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/expression.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

// Writes the program of one column, by the example at RecurrenceProblem with 512 columns:
//   const float x0 = ToFloat(in0[0u + i]);
//   const float x2 = ToFloat(in1[0u + i]);
//   const float x3 = (x0 * x2);
//   const float x1 = ToFloat(in0[512u + i]);
//   const float x4 = (x3 + x1);
// A row is loaded in front of its first reader. Nothing depends on a load but what reads it, so the
// compiler moves it ahead as far as there are registers.
class ProgramWriter {
 public:
  explicit ProgramWriter(const RecurrenceProblem& problem) : problem_(problem) {
    for (size_t input = 0; input < problem.inputs.size(); ++input) {
      for (int64_t row = 0; row < problem.inputs[input]; ++row) rows_.emplace_back(input, row);
    }
  }

  std::string Source(const std::vector<Expression>& steps) {
    for (size_t step = 0; step < steps.size(); ++step) {
      for (const int value : steps[step].InputsRead()) Load(value);
      AddValue(static_cast<int64_t>(rows_.size() + step), steps[step].Source());
    }
    for (size_t output = 0; output < problem_.outputs.size(); ++output) {
      const std::vector<int64_t>& values = problem_.outputs[output];
      for (size_t row = 0; row < values.size(); ++row) {
        Load(values[row]);
        text_ += "    y" + std::to_string(output) + "[" + Place(static_cast<int64_t>(row)) +
                 "] = FromFloat(x" + std::to_string(values[row]) + ");\n";
      }
    }
    return text_;
  }

 private:
  void Load(int64_t value) {
    if (value >= static_cast<int64_t>(rows_.size()) || !loaded_.insert(value).second) return;
    const auto& [input, row] = rows_[value];
    AddValue(value, "ToFloat(in" + std::to_string(input) + "[" + Place(row) + "])");
  }

  void AddValue(int64_t value, const std::string& source) {
    text_ += "    const float x" + std::to_string(value) + " = " + source + ";\n";
  }

  std::string Place(int64_t row) const { return std::to_string(row * problem_.columns) + "u + i"; }

  const RecurrenceProblem& problem_;
  std::vector<std::pair<size_t, int64_t>> rows_;  // input and row of the first values
  std::set<int64_t> loaded_;
  std::string text_;
};

// One thread for a column: neighbours read and write neighbouring numbers of a row, and what a step
// hands to the next one stays in registers.
GeneratedKernel RecurrenceKernel(const RecurrenceProblem& p, const std::string& program,
                                 int threads) {
  GeneratedKernel kernel;
  std::string inputs;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    kernel.arguments.push_back({Kind::kInput, static_cast<int>(i)});
    const std::string number = std::to_string(i);
    // The values take the parameters' names.
    inputs += "  const T* const in" + number + " = x" + number + ";\n";
  }
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    kernel.arguments.push_back({Kind::kOutput, static_cast<int>(i)});
  }
  kernel.variant = "t" + std::to_string(threads);
  kernel.block = {static_cast<unsigned>(threads), 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(p.columns, threads)), 1, 1};
  kernel.source = Constants({{"kColumns", p.columns}, {"kThreads", threads}});
  kernel.source += Replace(
      R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kColumns) return;
$INPUTS$  {
$PROGRAM$  }
}
)",
      {{"PARAMETERS", Parameters(kernel.arguments)}, {"INPUTS", inputs}, {"PROGRAM", program}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateRecurrence(const Problem& problem, const KernelForm&) {
  const auto* p = std::get_if<RecurrenceProblem>(&problem);
  if (p == nullptr) return {};
  const Result<std::vector<Expression>> steps = StepsOf(*p);
  if (!steps.ok()) return {};
  const std::string program = ProgramWriter(*p).Source(steps.value());
  std::vector<GeneratedKernel> kernels;
  // Columns are few: small blocks spread them over more multiprocessors.
  for (const int threads : {32, 128}) kernels.push_back(RecurrenceKernel(*p, program, threads));
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedRecurrence;
const GeneratedFamily kGeneratedRecurrence = {"recurrence", GenerateRecurrence};

}  // namespace plait::cuda
