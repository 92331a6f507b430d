#include <algorithm>
#include <cstdio>
#include <set>
#include <thread>

#include "gpu_worker/backends/cuda/cublaslt/source.h"
#include "gpu_worker/backends/cuda/cudnn/source.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

// Candidates of cuDNN and cuBLASLt from their lists to their results, over stand-ins: the code
// above the function tables against the float64 references.

namespace plait::simulated_gpu {
namespace {

constexpr int64_t kOperationsMax = int64_t{1} << 24;  // then all elements are compared

// The first, the last, and the first with a workspace: lists are long, and stand-ins differ in
// nothing else.
std::vector<size_t> Chosen(const std::vector<std::unique_ptr<cuda::Candidate>>& candidates) {
  std::set<size_t> chosen;
  if (candidates.empty()) return {};
  chosen.insert(0);
  chosen.insert(candidates.size() - 1);
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_TRUE(candidates[i]->Prepare().ok()) << candidates[i]->name();
    if (candidates[i]->workspace_bytes() == 0) continue;
    chosen.insert(i);
    break;
  }
  return {chosen.begin(), chosen.end()};
}

struct Count {
  int problems = 0, candidates = 0;
};

// Lists, runs and compares; how many there were of one source.
Count CheckAll(const cuda::CandidateSource& source) {
  Count count;
  LibraryFixture fixture;
  for (const LibraryCase& problem : LibraryCases()) {
    SCOPED_TRACE(problem.name + " " + cuda::PrecisionName(problem.precision) + " " +
                 cuda::LayoutName(problem.layout));
    const auto candidates = fixture.List(source, problem);
    const std::vector<size_t> chosen = Chosen(candidates);
    count.problems += chosen.empty() ? 0 : 1;
    for (const size_t i : chosen) {
      cuda::Candidate& candidate = *candidates[i];
      EXPECT_TRUE(candidate.Prepare().ok()) << candidate.name();
      const LibraryOperands operands = fixture.Upload(problem, candidate.workspace_bytes());
      const auto outputs = fixture.Run(candidate, problem, operands);
      EXPECT_TRUE(outputs.ok()) << candidate.name() << ": " << outputs.error().message;
      if (!outputs.ok()) return count;
      const cuda::ProblemShape shape = cuda::ShapeOf(problem.problem).value();
      const cuda::Difference difference =
          cuda::Compare(cuda::ComputeReference(problem.problem, shape, problem.layout,
                                               operands.host, kOperationsMax, 1),
                        outputs.value(), problem.precision);
      EXPECT_TRUE(cuda::Passes(difference, problem.problem, problem.precision))
          << candidate.name() << ": " << difference.relative_l2 << " " << difference.largest;
      ++count.candidates;
      fixture.Free();
    }
  }
  EXPECT_TRUE(fixture.driver().violations().empty());
  std::printf("%s: %d problems, %d candidates\n", source.name, count.problems, count.candidates);
  return count;
}

TEST(LibraryConformanceTest, CudnnComputesWhatItsDescriptorsSay) {
  const Count count = CheckAll(cuda::kCudnnSource);
  EXPECT_GE(count.problems, 120);
  EXPECT_GT(count.candidates, count.problems);
  EXPECT_EQ(LiveCudnnDescriptors(), 0);
}

TEST(LibraryConformanceTest, CublasLtComputesWhatItsDescriptorsSay) {
  const Count count = CheckAll(cuda::kCublasLtSource);
  EXPECT_GE(count.problems, 60);
  EXPECT_GT(count.candidates, count.problems);
  EXPECT_EQ(LiveCublasLtObjects(), 0);
}

// The smallest relative L2 of all candidates of the case.
double LeastError(const cuda::CandidateSource& source, const LibraryCase& problem) {
  LibraryFixture fixture;
  const cuda::ProblemShape shape = cuda::ShapeOf(problem.problem).value();
  double least = 1;
  for (const auto& candidate : fixture.List(source, problem)) {
    EXPECT_TRUE(candidate->Prepare().ok()) << candidate->name();
    const std::vector<std::string> notes = candidate->notes();
    if (problem.precision == cuda::Precision::kTf32 &&
        std::find(notes.begin(), notes.end(), "tensor_core") == notes.end()) {
      continue;
    }
    const LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
    const auto outputs = fixture.Run(*candidate, problem, operands);
    EXPECT_TRUE(outputs.ok()) << candidate->name() << ": " << outputs.error().message;
    if (!outputs.ok()) return least;
    const cuda::Difference difference =
        cuda::Compare(cuda::ComputeReference(problem.problem, shape, problem.layout, operands.host,
                                             kOperationsMax, 1),
                      outputs.value(), problem.precision);
    least = std::min(least, difference.relative_l2);
    fixture.Free();
  }
  return least;
}

// As tensor cores do: what is chosen in TF32 loses accuracy on the simulated device, too.
TEST(LibraryConformanceTest, TensorCoresRoundFloatsToTf32) {
  const cuda::ConvProblem conv{.c = 16, .h = 9, .w = 9, .k = 16, .r = 3, .s = 3};
  const cuda::GemmProblem product{.m = 16, .n = 16, .k = 64};
  for (const auto& [source, problem] :
       {std::pair<const cuda::CandidateSource*, cuda::Problem>(&cuda::kCudnnSource, conv),
        {&cuda::kCublasLtSource, product}}) {
    SCOPED_TRACE(source->name);
    EXPECT_LT(LeastError(*source, {"strict", problem}), 1e-6);
    const double rounded = LeastError(*source, {"tf32", problem, cuda::Precision::kTf32});
    EXPECT_GT(rounded, 1e-5);
    EXPECT_LT(rounded, 1e-3);
  }
}

// The lists are cuDNN's own, for the device that the runtime has.
TEST(LibraryConformanceTest, EnginesAreThoseThatCudnnListsForTheDevice) {
  LibraryCase conv;
  for (const LibraryCase& known : LibraryCases()) {
    if (known.name == "conv_bias_relu" && known.precision == cuda::Precision::kTf32 &&
        known.layout == cuda::MemoryLayout::kNhwc) {
      conv = known;
    }
  }
  const auto list = [&](int device) {
    std::set<std::string> names;
    LibraryFixture fixture({}, device);
    for (const auto& candidate : fixture.List(cuda::kCudnnSource, conv)) {
      EXPECT_TRUE(names.insert(candidate->name()).second);
      EXPECT_EQ(candidate->name().find("cudnn/eng"), 0U);
    }
    EXPECT_GT(names.size(), 10U);
    return names;
  };
  std::set<std::string> names[2] = {list(0)};
  // A thread's handle is of one device.
  std::thread([&] { names[1] = list(1); }).join();
  EXPECT_NE(names[0], names[1]) << "compute capability 9.0 and 8.0 have other engines";
}

}  // namespace
}  // namespace plait::simulated_gpu
