// What generated kernels of models ask of memory, and what that moves:
// `kernel_traffic MODEL.onnx...` lists the kernels of the models' plans (model_kernels.h) in strict
// fp32 and fp16, and runs the first two blocks of each on the simulated device.
//
// Prints a line for each family, variant, layout, precision and operand that is limited (kernels,
// the most bytes moved for each that is asked for, the most that arithmetic gives), what passes its
// limit, and which lines of traffic_exceptions.def these models have no need of. Exits 1 where one
// passes, or a kernel does not run. What is counted is what the text asks for, on no device.
//
//   cmake --build build --target kernel_traffic && build/kernel_traffic build/models/*.onnx
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "bench/simulated_gpu/kernel_traffic.h"
#include "bench/simulated_gpu/model_kernels.h"
#include "bench/simulated_gpu/traffic_limits.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait {
namespace {

// Of one program: fewer leave NVRTC's start to each, more leave processors idle at the end.
constexpr size_t kProgramKernels = 16;
constexpr unsigned kBlocks = 2;

// Some kernels of one precision, and what came of them.
struct MeasuredKernels {
  std::vector<const ModelKernel*> kernels;
  std::vector<std::vector<OperandTraffic>> traffic;  // by kernel
  std::string failure;
};

void Measure(MeasuredKernels* measured) {
  const absl::StatusOr<std::vector<simulated_gpu::Program>> programs =
      ProgramsOf(measured->kernels);
  if (!programs.ok()) {
    measured->failure = std::string(programs.status().message());
    return;
  }
  for (size_t i = 0; i < measured->kernels.size(); ++i) {
    const ModelKernel& kernel = *measured->kernels[i];
    absl::StatusOr<std::vector<OperandTraffic>> traffic =
        MeasureTraffic((*programs)[i], kernel, kBlocks);
    if (!traffic.ok()) {
      measured->failure = absl::StrCat(kernel.family->name, "/", kernel.kernel.variant, ": ",
                                       traffic.status().message());
      return;
    }
    measured->traffic.push_back(*std::move(traffic));
  }
}

std::vector<MeasuredKernels> MeasureAll(const std::vector<ModelKernel>& kernels) {
  std::map<cuda::Precision, std::vector<const ModelKernel*>> by_precision;
  for (const ModelKernel& kernel : kernels) by_precision[kernel.form.precision].push_back(&kernel);
  std::vector<MeasuredKernels> all;
  for (const auto& [precision, some] : by_precision) {
    for (size_t first = 0; first < some.size(); first += kProgramKernels) {
      const size_t end = std::min(some.size(), first + kProgramKernels);
      all.push_back({{some.begin() + first, some.begin() + end}, {}, ""});
    }
  }
  ParallelFor(static_cast<int>(std::thread::hardware_concurrency()), static_cast<int>(all.size()),
              [&](int i) { Measure(&all[i]); });
  return all;
}

struct Sum {
  int kernels = 0;
  double ratio = 0, bound = 0;
};
using Table = std::map<std::vector<std::string>, Sum>;

void AddTo(const ModelKernel& kernel, const OperandTraffic& traffic, Table* table) {
  if (!IsLimited(kernel, traffic)) return;
  Sum& sum =
      (*table)[{kernel.family->name, kernel.kernel.variant, cuda::LayoutName(kernel.form.layout),
                cuda::PrecisionName(kernel.form.precision), traffic.is_store ? "stores" : "loads",
                traffic.operand}];
  ++sum.kernels;
  sum.ratio = std::max(sum.ratio, traffic.ratio());
  sum.bound = std::max(sum.bound, TrafficBoundOf(kernel, traffic).ratio);
}

void Print(const Table& table) {
  std::printf("%-14s %-16s %-4s %-6s %-6s %-14s %7s %6s %6s\n", "family", "variant", "", "", "", "",
              "kernels", "moved", "bound");
  for (const auto& [name, sum] : table) {
    std::printf("%-14s %-16s %-4s %-6s %-6s %-14s %7d %6.2f %6.2f\n", name[0].c_str(),
                name[1].c_str(), name[2].c_str(), name[3].c_str(), name[4].c_str(), name[5].c_str(),
                sum.kernels, sum.ratio, sum.bound);
  }
}

int Main(const std::vector<std::string>& paths) {
  ModelKernels set({cuda::Precision::kStrict, cuda::Precision::kTf32, cuda::Precision::kFp16,
                    cuda::Precision::kBf16});
  for (const std::string& path : paths) {
    const absl::Status status = set.AddModel(path);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), std::string(status.message()).c_str());
      return 1;
    }
  }
  std::fprintf(stderr, "%zu kernels\n", set.kernels().size());
  Table table;
  TrafficCheck check;
  std::vector<std::string> faults;
  for (const MeasuredKernels& measured : MeasureAll(set.kernels())) {
    if (!measured.failure.empty()) faults.push_back(measured.failure);
    for (size_t i = 0; i < measured.traffic.size(); ++i) {
      for (const OperandTraffic& traffic : measured.traffic[i]) {
        AddTo(*measured.kernels[i], traffic, &table);
        std::string fault = check.Check(*measured.kernels[i], traffic);
        if (!fault.empty()) faults.push_back(std::move(fault));
      }
    }
  }
  Print(table);
  for (const std::string& exception : check.Unneeded()) {
    std::printf("not needed: %s\n", exception.c_str());
  }
  for (const std::string& fault : faults) std::printf("%s\n", fault.c_str());
  return faults.empty() ? 0 : 1;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: kernel_traffic MODEL.onnx...\n");
    return 2;
  }
  return plait::Main({argv + 1, argv + argc});
}
