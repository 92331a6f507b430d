#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "bench/gpu/kernel_list.h"
#include "client/kernel_list/problem_json.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"
#include "optimizer/kernels/format.h"
#include "optimizer/kernels/kernel.h"
#include "tests/files/source_path.h"

namespace plait {
namespace {

constexpr char kRecorded[] = "bench/results/gpu/nvidia-h200/2026-11-26/kernels.jsonl";

// The graph of a line as one kernel. Formats are those of the kernel's inputs and then of its
// outputs.
Kernel WholeGraph(const cuda::ListedKernel& line, const Graph& graph, cuda::MemoryLayout layout) {
  Kernel kernel{.family = line.family, .variant = std::string(cuda::kStrictForm)};
  kernel.nodes.resize(graph.node_count());
  std::iota(kernel.nodes.begin(), kernel.nodes.end(), 0);
  const size_t inputs = InputsOf(graph, kernel.nodes).size();
  for (const absl::string_view name : absl::StrSplit(FormatsIn(line, layout), ',')) {
    std::vector<Format>& formats =
        kernel.input_formats.size() < inputs ? kernel.input_formats : kernel.output_formats;
    formats.push_back(FormatFromName(name).value_or(Format::kPlain));
  }
  return kernel;
}

// The problem that the backend makes of a line's graph, in the layout in which it has one.
std::optional<cuda::KernelProblem> ProblemOf(const cuda::ListedKernel& line, const Graph& graph) {
  std::optional<cuda::KernelProblem> problem =
      cuda::ProblemOfKernel(graph, WholeGraph(line, graph, cuda::MemoryLayout::kNchw));
  if (problem.has_value()) return problem;
  return cuda::ProblemOfKernel(graph, WholeGraph(line, graph, cuda::MemoryLayout::kNhwc));
}

// What is timed for a line on a GPU is what a plan runs for the graph that the line names: the
// recorder reads the problem from the line's fields, the backend makes it from the graph. Of some
// small images the H200 took longer for both halves of a separable convolution in one kernel than
// for one after the other; since then the backend has no such problem (offers/separable.cc).
TEST(RecordedProblemsTest, AreThoseOfTheirGraphs) {
  std::ifstream file(SourcePath(kRecorded));
  int lines = 0, separable = 0;
  for (std::string text; std::getline(file, text); ++lines) {
    const auto object = cuda::FlatObject::Parse(text);
    ASSERT_TRUE(object.ok()) << text;
    const auto line = cuda::ReadKernel(object.value());
    ASSERT_TRUE(line.ok()) << text;
    const absl::StatusOr<Graph> graph = ParseGraph(line.value().graph);
    ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
    const std::optional<cuda::KernelProblem> made = ProblemOf(line.value(), *graph);
    if (!made.has_value()) {
      EXPECT_EQ(line.value().family, "separable") << text;
      ++separable;
      continue;
    }
    EXPECT_EQ(ProblemJson(made->problem), ProblemJson(line.value().problem)) << text;
  }
  EXPECT_EQ(lines, 2978);
  EXPECT_EQ(separable, 139);
}

}  // namespace
}  // namespace plait
