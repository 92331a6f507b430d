#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "bench/gpu/candidate_trial.h"
#include "bench/gpu/kernel_list.h"
#include "bench/gpu/options.h"
#include "bench/gpu/supervisor.h"
#include "gpu_worker/backends/cuda/run/device_description.h"

namespace plait::cuda {

#define PLAIT_CANDIDATE_SOURCE(name, constant) extern const CandidateSource constant;
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE

namespace {

// What was found for one family, precision, layout and source.
struct Row {
  int kernels = 0;     // asked for
  int without = 0;     // that have no candidate
  int candidates = 0;  // listed
  int prepared = 0;
  int later = 0;  // not prepared, because they are compiled at run time
  int failed = 0;
  std::string failure;  // the first one
};

void PrepareAll(const std::vector<std::unique_ptr<Candidate>>& candidates, bool runtime_compiled,
                Row* row) {
  for (const auto& candidate : candidates) {
    ++row->candidates;
    if (IsRuntimeCompiled(*candidate) && !runtime_compiled) {
      ++row->later;
      continue;
    }
    const Status prepared = candidate->Prepare();
    if (prepared.ok()) {
      ++row->prepared;
      continue;
    }
    ++row->failed;
    if (row->failure.empty()) row->failure = candidate->name() + ": " + prepared.error().message;
  }
}

void EnumerateOne(const CandidateSource& source, const ListedKernel& kernel, Precision precision,
                  MemoryLayout layout, const CudaDevice& device, bool runtime_compiled, Row* row) {
  ++row->kernels;
  const auto listed = source.enumerate(kernel.problem, precision, layout, OperandPlaces(), device);
  if (!listed.ok()) {
    ++row->without;
    if (row->failure.empty()) row->failure = listed.error().message;
    return;
  }
  if (listed.value().empty()) ++row->without;
  PrepareAll(listed.value(), runtime_compiled, row);
}

// Returns how many candidates could not be built.
int Print(const std::map<std::string, Row>& rows) {
  std::printf("%-48s %8s %8s %10s %9s %6s %7s\n", "family precision layout source", "kernels",
              "without", "candidates", "prepared", "later", "failed");
  Row total;
  for (const auto& [name, row] : rows) {
    std::printf("%-48s %8d %8d %10d %9d %6d %7d\n", name.c_str(), row.kernels, row.without,
                row.candidates, row.prepared, row.later, row.failed);
    total.candidates += row.candidates;
    total.prepared += row.prepared;
    total.later += row.later;
    total.failed += row.failed;
  }
  std::printf("%-48s %8s %8s %10d %9d %6d %7d\n", "total", "", "", total.candidates, total.prepared,
              total.later, total.failed);
  for (const auto& [name, row] : rows) {
    if (row.failure.empty()) continue;
    std::printf("%s: %s\n", name.c_str(), row.failure.substr(0, 300).c_str());
  }
  return total.failed;
}

}  // namespace

int RunEnumerate(const Options& options) {
  const Result<std::vector<ListedKernel>> kernels = ReadKernelList(options.kernels);
  if (!kernels.ok()) {
    std::fprintf(stderr, "enumerate: %s\n", kernels.error().message.c_str());
    return 1;
  }
  CatchStopSignals();
  const CudaDevice device = DescribeH200();
  std::map<std::string, Row> rows;
  int64_t count = 0;
  for (const ListedKernel& kernel : kernels.value()) {
    if (StopRequested() || PastDeadline(options) || ++count > options.kernels_max) break;
    if (kernel.priority > options.priority_max) break;
    for (Precision precision : options.precisions) {
      for (MemoryLayout layout : options.layouts) {
        if (layout != options.layouts.front() && !LayoutMatters(kernel.problem)) continue;
        for (const CandidateSource* source : {
#define PLAIT_CANDIDATE_SOURCE(name, constant) &constant,
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE
             }) {
          const std::string name = kernel.family + " " + PrecisionName(precision) + " " +
                                   LayoutName(layout) + " " + source->name;
          EnumerateOne(*source, kernel, precision, layout, device, options.prepare_all,
                       &rows[name]);
        }
      }
    }
  }
  return Print(rows) == 0 ? 0 : 1;
}

}  // namespace plait::cuda
