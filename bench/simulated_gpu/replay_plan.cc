#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "gpu_worker/backends/cuda/run/cuda_executor.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

// Replays the plans inside optimized models on a simulated GPU in this process, whose driver can be
// asked what it was told, and prints a line of JSON for each: nodes and edges of the graphs, calls
// of a replay, and how outputs compare with the reference backend's and over random orders. Each
// run proves that all pairs of operations that touch the same bytes are ordered; one that are not
// ends it. Nothing of it is a measurement of a GPU.

namespace plait {
namespace {

constexpr char kUsage[] =
    "usage: replay_plan ORIGINAL.onnx [--extensions N] [--seed N] OPTIMIZED.onnx...\n";
// Of the comparison's verdict alone; the error itself is printed.
constexpr double kRelErrorMax = 1e-3;

struct ReplayRequest {
  std::string original;
  std::vector<std::string> optimized;
  int extensions = 3;
  int seed = 5;
};

std::optional<ReplayRequest> Parse(int argc, char** argv) {
  ReplayRequest request;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    int* const number = word == "--extensions" ? &request.extensions
                        : word == "--seed"     ? &request.seed
                                               : nullptr;
    if (number != nullptr) {
      if (++i == argc || !absl::SimpleAtoi(argv[i], number) || *number < 1) return std::nullopt;
    } else if (request.original.empty()) {
      request.original = argv[i];
    } else {
      request.optimized.emplace_back(word);
    }
  }
  if (request.optimized.empty()) return std::nullopt;
  return request;
}

// The simulated driver and libraries, and an executor of the first device. The driver goes last.
struct SimulatedGpu {
  SimulatedGpu() {
    cuda::CudnnLibrary::Use(&simulated_gpu::SimulatedCudnn());
    cuda::CublasLtLibrary::Use(&simulated_gpu::SimulatedCublasLt());
  }

  absl::Status Open() {
    PLAIT_ASSIGN_OR_RETURN(
        executor, cuda::OpenOn(std::make_unique<cuda::DriverRuntime>(0, &driver.library()), 0, {},
                               /*has_libraries=*/true));
    return absl::OkStatus();
  }

  simulated_gpu::SimulatedDriver driver;
  std::unique_ptr<Executor> executor;
};

absl::StatusOr<std::vector<Tensor>> RunReference(const ReplayRequest& request) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> reference, OpenExecutor("reference"));
  LoadOptions options;
  options.ignore_plan = true;
  options.without_plan = PlanWithout::kPredictedBaseline;
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const LoadedExecutable loaded,
                         LoadExecutable(request.original, options, *reference, &warnings));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(loaded.model.graph, static_cast<uint64_t>(request.seed)));
  return loaded.executable->Run(inputs);
}

// Another random order each time, which has to give the same bits.
absl::Status RunExtensions(const ReplayRequest& request, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& expected, SimulatedGpu* gpu,
                           cuda::CudaExecutable* executable, Json* json) {
  std::set<std::string> orders;
  int differing = 0;
  for (int extension = 1; extension <= request.extensions; ++extension) {
    gpu->driver.SetSeed(static_cast<uint64_t>(extension));
    gpu->driver.TakeTrace(0);
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, executable->Run(inputs));
    orders.insert(absl::StrJoin(gpu->driver.TakeTrace(0), "\n"));
    if (outputs != expected) ++differing;
  }
  (*json)["extensions"] = request.extensions;
  (*json)["orders"] = orders.size();
  (*json)["extensions_that_differ"] = differing;
  return absl::OkStatus();
}

// What another processor computes of the plan.
Json HostOperators(const LoadedModel& model) {
  Json operators = Json::array();
  for (const Step& step : model.plan.steps) {
    if (step.kernel.family != cuda::kHostFamily) continue;
    operators.push_back(std::string(OpKindName(model.graph.node(step.kernel.nodes[0]).op)));
  }
  return operators;
}

// Steps of which the plan names an implementation, and those of them that were loaded as it.
void CountImplementations(const Plan& plan, const cuda::CudaExecutable& executable, Json* json) {
  const std::vector<std::string> loaded = executable.step_variants();
  int named = 0;
  int as_named = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const std::string& variant = plan.steps[i].kernel.variant;
    if (cuda::ImplementationOfForm(variant).empty()) continue;
    ++named;
    as_named += loaded[i] == variant;
  }
  (*json)["named_steps"] = named;
  (*json)["steps_loaded_as_named"] = as_named;
}

absl::StatusOr<Json> Replay(const std::string& path, const ReplayRequest& request,
                            const std::vector<Tensor>& reference, SimulatedGpu* gpu) {
  LoadOptions options;
  options.require_plan = true;
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const LoadedExecutable loaded,
                         LoadExecutable(path, options, *gpu->executor, &warnings));
  auto* const executable = dynamic_cast<cuda::CudaExecutable*>(loaded.executable.get());
  if (executable == nullptr || loaded.model.grade != PlanGrade::kExact) {
    return absl::FailedPreconditionError(absl::StrCat("it runs by ", loaded.model.explanation));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(loaded.model.graph, static_cast<uint64_t>(request.seed)));
  Json json;
  json["model"] = path;
  json["kernels"] = loaded.model.plan.steps.size();
  json["streams"] = loaded.model.plan.streams;
  json["host_nodes"] = executable->fallback_nodes();
  json["host_operators"] = HostOperators(loaded.model);
  CountImplementations(loaded.model.plan, *executable, &json);
  json["graphs"] = executable->graph_count();
  json["graph_nodes"] = executable->graph_nodes();
  json["graph_edges"] = executable->graph_edges();
  const simulated_gpu::DriverCounts before = gpu->driver.counts();
  const Stopwatch stopwatch;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, executable->Run(inputs));
  json["seconds"] = stopwatch.elapsed_us() / 1e6;
  const simulated_gpu::DriverCounts after = gpu->driver.counts();
  json["launches"] = after.launches_of_graphs - before.launches_of_graphs;
  json["allocations"] = after.allocations - before.allocations;
  json["frees"] = after.frees - before.frees;
  OutputComparer comparer(kRelErrorMax);
  comparer.Add(reference, outputs);
  const OutputComparison compared = comparer.Result();
  json["verdict"] = std::string(VerdictName(compared.equivalence.verdict));
  json["max_rel_error"] = compared.equivalence.max_rel_error;
  PLAIT_RETURN_IF_ERROR(RunExtensions(request, inputs, outputs, gpu, executable, &json));
  json["violations"] = gpu->driver.violations();
  return json;
}

absl::Status Run(const ReplayRequest& request) {
  SimulatedGpu gpu;
  PLAIT_RETURN_IF_ERROR(gpu.Open());
  const Stopwatch stopwatch;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> reference, RunReference(request));
  const double reference_seconds = stopwatch.elapsed_us() / 1e6;
  for (const std::string& path : request.optimized) {
    absl::StatusOr<Json> json = Replay(path, request, reference, &gpu);
    if (!json.ok()) return Annotate(json.status(), path);
    (*json)["reference_seconds"] = reference_seconds;
    std::printf("%s\n", json->dump().c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const std::optional<plait::ReplayRequest> request = plait::Parse(argc, argv);
  if (!request.has_value()) {
    std::fprintf(stderr, "%s", plait::kUsage);
    return 2;
  }
  const absl::Status status = plait::Run(*request);
  if (status.ok()) return 0;
  std::fprintf(stderr, "replay_plan: %s\n", status.ToString().c_str());
  return 1;
}
