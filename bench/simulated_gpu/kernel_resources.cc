// What generated kernels of models take of a multiprocessor, without one:
// `kernel_resources [--jsonl FILE] MODEL.onnx...` plans each model for the described device h200,
// lists the generated kernels of the plans' steps (model_kernels.h) in strict fp32, TF32, fp16 and
// bf16, and compiles each, once, for sm_80, sm_89, sm_90a and sm_100, several in one program.
//
// Prints a line for each family, precision and architecture (kernels, the most registers, bytes of
// shared memory, the least occupancy, kernels that spill), every kernel that spills, and which
// lines of spill_exceptions.def these models have no need of. FILE gets a line of JSON for each
// kind of kernel. `kernel_resources --table FILE` writes instead what
// optimizer/cost/generated_kernels.def has, for which no model is needed. Exits 1 where a kernel
// does not compile, or with a warning, or spills without an exception. What is said is ptxas's
// word, and no device's.
//
//   cmake --build build --target kernel_resources && build/kernel_resources build/models/*.onnx
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "bench/simulated_gpu/kernel_table.h"
#include "bench/simulated_gpu/model_kernels.h"
#include "bench/simulated_gpu/ptxas_log.h"
#include "bench/simulated_gpu/spill_exceptions.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "nlohmann/json.hpp"

namespace plait {
namespace {

constexpr const char* kArchitectures[] = {"sm_80", "sm_89", "sm_90a", "sm_100"};
// Of one program: fewer leave NVRTC's start to each, more leave processors idle at the end.
constexpr size_t kBatchKernels = 16;

struct Batch {
  const char* architecture;
  std::vector<const ModelKernel*> kernels;  // of one precision
  std::vector<KernelResources> resources;   // by kernel
  std::string failure;
};

void Compile(Batch* batch) {
  std::vector<const cuda::GeneratedKernel*> kernels;
  for (const ModelKernel* listed : batch->kernels) kernels.push_back(&listed->kernel);
  const cuda::Result<cuda::CubinWithLog> compiled = cuda::CompileToCubinWithLog(
      cuda::DeviceSource(kernels, batch->kernels[0]->form.precision), batch->architecture);
  if (!compiled.ok()) {
    batch->failure = compiled.error().message;
    return;
  }
  batch->failure = WarningsOf(compiled.value().log);
  const std::map<std::string, KernelResources> told = ReadPtxasLog(compiled.value().log);
  for (size_t i = 0; i < batch->kernels.size(); ++i) {
    const auto found = told.find(cuda::EntryOf(*kernels[i], batch->kernels[i]->form.precision));
    if (found == told.end()) {
      absl::StrAppend(&batch->failure, "ptxas says nothing of ", batch->kernels[i]->family->name,
                      "/", batch->kernels[i]->kernel.variant, "\n");
      return;
    }
    batch->resources.push_back(found->second);
  }
}

std::vector<Batch> BatchesOf(const std::vector<ModelKernel>& kernels) {
  std::map<cuda::Precision, std::vector<const ModelKernel*>> by_precision;
  for (const ModelKernel& kernel : kernels) by_precision[kernel.form.precision].push_back(&kernel);
  std::vector<Batch> batches;
  for (const auto& [precision, of_precision] : by_precision) {
    for (size_t first = 0; first < of_precision.size(); first += kBatchKernels) {
      const size_t end = std::min(of_precision.size(), first + kBatchKernels);
      for (const char* architecture : kArchitectures) {
        batches.push_back(
            {architecture, {of_precision.begin() + first, of_precision.begin() + end}, {}, ""});
      }
    }
  }
  return batches;
}

// One kernel on one architecture.
struct Row {
  const ModelKernel& listed;
  const char* architecture;
  KernelResources resources;

  double occupancy() const {
    return OccupancyOf(resources, ThreadsOf(listed.kernel), MultiprocessorOf(architecture));
  }
  bool spills() const { return SpilledBytes(resources) > 0; }
  nlohmann::ordered_json ToJson() const {
    return {{"registers", resources.registers},
            {"shared_bytes", resources.shared_bytes},
            {"stack_bytes", resources.stack_bytes},
            {"spill_store_bytes", resources.spill_store_bytes},
            {"spill_load_bytes", resources.spill_load_bytes},
            {"occupancy", occupancy()}};
  }
};

nlohmann::ordered_json KernelJson(const ModelKernel& listed) {
  return {{"family", listed.family->name},
          {"variant", listed.kernel.variant},
          {"problem", cuda::ProblemName(listed.problem)},
          {"places", PlacesName(listed.form)},
          {"precision", cuda::PrecisionName(listed.form.precision)},
          {"threads", ThreadsOf(listed.kernel)}};
}

// Kernels that are alike in all of it share a line, which counts them.
void WriteLines(const std::vector<ModelKernel>& kernels, const std::vector<Row>& rows,
                std::ostream& lines) {
  std::map<const ModelKernel*, nlohmann::ordered_json> by_kernel;
  for (const Row& row : rows) {
    const auto [entry, is_new] = by_kernel.try_emplace(&row.listed);
    if (is_new) entry->second = KernelJson(row.listed);
    entry->second[row.architecture] = row.ToJson();
  }
  std::map<std::string, int> counts;
  for (const auto& [kernel, json] : by_kernel) ++counts[json.dump()];
  for (const ModelKernel& kernel : kernels) {
    const auto found = by_kernel.find(&kernel);
    if (found == by_kernel.end()) continue;
    int& count = counts[found->second.dump()];
    if (count == 0) continue;  // written already
    found->second["kernels"] = std::exchange(count, 0);
    lines << found->second.dump() << "\n";
  }
}

void PrintSummary(const std::vector<Row>& rows) {
  struct Sum {
    int kernels = 0, registers = 0, shared_bytes = 0, spilling = 0;
    double occupancy = 1;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
  for (const Row& row : rows) {
    Sum& sum = sums[{row.listed.family->name, cuda::PrecisionName(row.listed.form.precision),
                     row.architecture}];
    ++sum.kernels;
    sum.registers = std::max(sum.registers, row.resources.registers);
    sum.shared_bytes = std::max(sum.shared_bytes, row.resources.shared_bytes);
    sum.occupancy = std::min(sum.occupancy, row.occupancy());
    sum.spilling += row.spills();
  }
  std::printf("%-14s %-7s %-7s %7s %9s %7s %9s %6s\n", "family", "", "", "kernels", "registers",
              "shared", "occupancy", "spill");
  for (const auto& [name, sum] : sums) {
    std::printf("%-14s %-7s %-7s %7d %9d %7d %8.0f%% %6d\n", std::get<0>(name).c_str(),
                std::get<1>(name).c_str(), std::get<2>(name).c_str(), sum.kernels, sum.registers,
                sum.shared_bytes, 100 * sum.occupancy, sum.spilling);
  }
  for (const Row& row : rows) {
    if (!row.spills()) continue;
    std::printf("spills on %s: %s %s\n", row.architecture, KernelJson(row.listed).dump().c_str(),
                row.ToJson().dump().c_str());
  }
}

// Returns whether all that spills is listed.
bool CheckSpills(const std::vector<Row>& rows) {
  SpillCheck check;
  bool all_are_listed = true;
  for (const Row& row : rows) {
    const std::string fault =
        check.Check({row.listed.family->name, row.listed.kernel.variant, row.architecture,
                     ThreadsOf(row.listed.kernel), row.resources});
    if (fault.empty()) continue;
    all_are_listed = false;
    std::printf("%s\n", fault.c_str());
  }
  for (const std::string& exception : check.Unneeded()) {
    std::printf("not needed: %s\n", exception.c_str());
  }
  return all_are_listed;
}

int WriteTable(const char* path) {
  const absl::StatusOr<std::string> table = GeneratedKernelTable();
  if (!table.ok()) {
    std::fprintf(stderr, "%s\n", std::string(table.status().message()).c_str());
    return 1;
  }
  std::ofstream file(path);
  file << *table;
  return file.good() ? 0 : 2;
}

int Main(std::vector<std::string> arguments) {
  std::ofstream lines;
  if (arguments.size() > 2 && arguments[0] == "--jsonl") {
    lines.open(arguments[1]);
    if (!lines) {
      std::fprintf(stderr, "cannot write %s\n", arguments[1].c_str());
      return 2;
    }
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  ModelKernels set({cuda::Precision::kStrict, cuda::Precision::kTf32, cuda::Precision::kFp16,
                    cuda::Precision::kBf16});
  for (const std::string& path : arguments) {
    const absl::Status status = set.AddModel(path);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), std::string(status.message()).c_str());
      return 1;
    }
  }
  std::fprintf(stderr, "%zu kernels\n", set.kernels().size());
  std::vector<Batch> batches = BatchesOf(set.kernels());
  ParallelFor(static_cast<int>(std::thread::hardware_concurrency()),
              static_cast<int>(batches.size()), [&](int batch) { Compile(&batches[batch]); });
  std::vector<Row> rows;
  bool all_well = true;
  for (const Batch& batch : batches) {
    for (size_t i = 0; i < batch.resources.size(); ++i) {
      rows.push_back({*batch.kernels[i], batch.architecture, batch.resources[i]});
    }
    if (batch.failure.empty()) continue;
    all_well = false;
    std::printf("%s: %s\n", batch.architecture, batch.failure.c_str());
  }
  if (lines.is_open()) WriteLines(set.kernels(), rows, lines);
  PrintSummary(rows);
  return CheckSpills(rows) && all_well ? 0 : 1;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc == 3 && absl::string_view(argv[1]) == "--table") return plait::WriteTable(argv[2]);
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: kernel_resources [--jsonl FILE] MODEL.onnx...\n"
                 "       kernel_resources --table FILE\n");
    return 2;
  }
  return plait::Main({argv + 1, argv + argc});
}
