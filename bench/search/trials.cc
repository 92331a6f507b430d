#include "bench/search/trials.h"

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"

namespace plait {
namespace {

absl::Status Run(absl::Span<char* const> paths, TrialCounts counts, Trial trial) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenExecutor("cpu", {.pins_threads = true}));
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(executor->device()));
  for (const char* const path : paths) {
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(
        const LoadedModel model,
        LoadModel(path, {.ignore_plan = true, .without_plan = PlanWithout::kPredictedBaseline},
                  *executor, &warnings));
    PLAIT_ASSIGN_OR_RETURN(const std::string found, trial(*executor, *catalog, model, counts));
    std::printf("{\"model\": \"%s\", %s}\n", path, found.c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace

int TrialsMain(const char* name, int argc, char** argv, Trial trial) {
  TrialCounts counts;
  if (argc < 4 || !absl::SimpleAtoi(argv[1], &counts.equal) ||
      !absl::SimpleAtoi(argv[2], &counts.planted) || counts.equal < 0 || counts.planted < 0) {
    std::fprintf(stderr, "usage: %s EQUAL PLANTED MODEL.onnx...\n", name);
    return 2;
  }
  const absl::Status status = Run({argv + 3, static_cast<size_t>(argc - 3)}, counts, trial);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", name, status.ToString().c_str());
  return 1;
}

}  // namespace plait
