// Checks that kernels of plans for the cuda backend are what their nodes say:
// `check_problems [--flops-max N] MODEL.onnx...` brings each model into normal form, plans it for
// the described device h200 and computes the problem of each distinct kernel beside its nodes, on
// random numbers. Prints a line for each model: kernels, those without a problem by operator, those
// too large to compute, the largest difference. Exits 1 where one differs by more than 1e-4.
// Nodes that no kernel of the device computes are listed with their types, those of the model as it
// was imported too: what a baseline leaves to the host.
//
//   cmake --build build --target check_problems && build/check_problems build/models/*.onnx
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/search/described_plans.h"
#include "bench/search/described_search.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/cost/described_device.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait {
namespace {

constexpr double kRelativeL2Max = 1e-4;

// What was found of one model.
struct Findings {
  std::set<std::string> kernels;
  std::map<std::string, int> by_problem;
  std::map<std::string, int> without_problem;
  int too_large = 0;
  int different = 0;
  double largest = 0;
};

std::string OperatorsOf(const Graph& graph, const Kernel& kernel) {
  std::string text;
  for (const NodeId node : kernel.nodes) {
    absl::StrAppend(&text, text.empty() ? "" : "+", OpKindName(graph.node(node).op));
  }
  return text;
}

void CheckOne(const Graph& graph, const Kernel& kernel, int64_t flops_max, Findings* findings) {
  const absl::StatusOr<cuda::ProblemCheck> check =
      cuda::CheckKernelProblemIn(graph, kernel, findings->kernels.size(), flops_max);
  if (absl::IsNotFound(check.status())) {
    ++findings->without_problem[absl::StrCat(kernel.family, " ", OperatorsOf(graph, kernel))];
    return;
  }
  if (!check.ok() || !(check->relative_l2 <= kRelativeL2Max)) {
    ++findings->different;
    std::printf("  %s %s: %s\n", kernel.family.c_str(), OperatorsOf(graph, kernel).c_str(),
                check.ok() ? absl::StrCat("differs by ", check->relative_l2).c_str()
                           : std::string(check.status().message()).c_str());
    return;
  }
  ++findings->by_problem[cuda::ProblemName(check->problem.problem)];
  const auto shape = cuda::ShapeOf(check->problem.problem);
  if (shape.ok() && shape.value().flops > flops_max) ++findings->too_large;
  findings->largest = std::max(findings->largest, check->relative_l2);
}

// The nodes that only the host computes, by operator and types.
std::map<std::string, int> HostNodesOf(const Graph& graph) {
  std::map<std::string, int> nodes;
  const cuda::CudaCatalog catalog({});
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (catalog.KernelsAt(graph, node, false).front().family != cuda::kHostFamily) continue;
    std::string text = absl::StrCat(OpKindName(graph.node(node).op), "(");
    for (const TensorId input : graph.node(node).inputs) {
      if (input == kNoTensor) continue;
      absl::StrAppend(&text, graph.tensor(input).constant != nullptr ? " const " : " ",
                      graph.type(input).ToString());
    }
    ++nodes[absl::StrCat(text, " ) = ", graph.output_type(node).ToString())];
  }
  return nodes;
}

void PrintHostNodes(const char* where, const Graph& graph) {
  for (const auto& [name, count] : HostNodesOf(graph)) {
    std::printf("  on the host %s: %d x %s\n", where, count, name.c_str());
  }
}

absl::StatusOr<Findings> CheckModel(const std::string& path, int64_t flops_max) {
  PLAIT_ASSIGN_OR_RETURN(const DescribedModel model, DescribedModelOf(path));
  PrintHostNodes("as imported", model.graph);
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, NormalFormOf(path));
  PrintHostNodes("in normal form", graph);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Plan> plans, PlansOnDescribed(graph, kH200Device));
  Findings findings;
  for (const Plan& plan : plans) {
    for (const Step& step : plan.steps) {
      if (step.kernel.nodes.empty() || step.kernel.family == kViewFamily) continue;
      const ProfileKey key = KernelProfileKey(graph, step.kernel, {"cuda", "1"});
      if (!findings.kernels.insert(key.ToString()).second) continue;
      CheckOne(graph, step.kernel, flops_max, &findings);
    }
  }
  return findings;
}

int Main(const std::vector<std::string>& arguments) {
  int64_t flops_max = 2000000000;
  bool all_equal = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--flops-max" && i + 1 < arguments.size()) {
      if (!absl::SimpleAtoi(arguments[++i], &flops_max)) return 2;
      continue;
    }
    const absl::StatusOr<Findings> found = CheckModel(arguments[i], flops_max);
    if (!found.ok()) {
      std::printf("%s: %s\n", arguments[i].c_str(), std::string(found.status().message()).c_str());
      return 1;
    }
    std::printf("%s: %d kernels, %d different, %d too large, relative L2 at most %.1e;",
                arguments[i].c_str(), static_cast<int>(found->kernels.size()), found->different,
                found->too_large, found->largest);
    for (const auto& [name, count] : found->by_problem) std::printf(" %s %d", name.c_str(), count);
    std::printf("\n");
    for (const auto& [name, count] : found->without_problem) {
      std::printf("  no problem: %d x %s\n", count, name.c_str());
    }
    std::fflush(stdout);
    all_equal = all_equal && found->different == 0;
  }
  return all_equal ? 0 : 1;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Main({argv + 1, argv + argc}); }
