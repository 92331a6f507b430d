// How long the first run of a shape takes: `rebind_times MODEL.opt.onnx THREADS SHAPES...` loads
// the model for each SHAPES in turn, such as "ids=1x40,mask=1x40", as a session does, and keeps
// what it has loaded. For each it prints milliseconds of wall and of processor time: of binding the
// model and of its normal form, which are a part of what follows; of choosing, binding and loading
// the plan; of the first run and of the fastest of some more.
//
//   cmake --build build --target rebind_times
//   build/rebind_times resnet50.opt.onnx 2 input=1x3x224x224 input=3x3x224x224
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/stopwatch.h"
#include "loading/model_file.h"
#include "loading/plan_rebinder.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/onnx/import.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

constexpr int kRuns = 20;

double ProcessorMs() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// Prints what `work` takes.
template <typename Work>
absl::Status Timed(const char* what, const Work& work) {
  const double processor_ms = ProcessorMs();
  const Stopwatch stopwatch;
  PLAIT_RETURN_IF_ERROR(work());
  std::printf("  %-12s %8.2f ms %8.2f ms of processors\n", what, stopwatch.elapsed_us() / 1e3,
              ProcessorMs() - processor_ms);
  return absl::OkStatus();
}

absl::StatusOr<Bindings> ReadShapes(const std::string& text) {
  Bindings shapes;
  for (const absl::string_view input : absl::StrSplit(text, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(input, '=');
    if (parts.size() != 2) return absl::InvalidArgumentError("shapes must be NAME=AxBxC,...");
    for (const absl::string_view dim : absl::StrSplit(parts[1], 'x')) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(dim, &size)) return absl::InvalidArgumentError("no number");
      shapes[parts[0]].push_back(size);
    }
  }
  return shapes;
}

absl::Status TimeParts(const Model& model, const Bindings& shapes) {
  Graph graph;
  PLAIT_RETURN_IF_ERROR(Timed("(bind", [&]() -> absl::Status {
    PLAIT_ASSIGN_OR_RETURN(Bound bound, Bind(model, shapes));
    graph = std::move(bound.graph);
    return absl::OkStatus();
  }));
  return Timed(" normal form)", [&]() -> absl::Status {
    RuleCounts counts;
    return Canonicalize(graph, AllRules(), &counts).status();
  });
}

absl::Status TimeRuns(Executable& executable) {
  PLAIT_RETURN_IF_ERROR(executable.Bound().status());
  PLAIT_RETURN_IF_ERROR(Timed("first run", [&] { return executable.RunBound({}, {}); }));
  double best_us = 1e12;
  double best_processor_ms = 1e12;
  for (int i = 0; i < kRuns; ++i) {
    const double processor_ms = ProcessorMs();
    const Stopwatch stopwatch;
    PLAIT_RETURN_IF_ERROR(executable.RunBound({}, {}));
    best_us = std::min(best_us, stopwatch.elapsed_us());
    best_processor_ms = std::min(best_processor_ms, ProcessorMs() - processor_ms);
  }
  std::printf("  %-12s %8.2f ms %8.2f ms of processors\n", "later run", best_us / 1e3,
              best_processor_ms);
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  int threads = 0;
  if (arguments.size() < 3 || !absl::SimpleAtoi(arguments[1], &threads)) {
    return absl::InvalidArgumentError("usage: rebind_times MODEL.opt.onnx THREADS SHAPES...");
  }
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadPackedModel(arguments[0]));
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportOnnx(bytes));
  const std::vector<FilePlan> plans = ReadFilePlans(model);
  PLAIT_ASSIGN_OR_RETURN(const auto executor, OpenExecutor("cpu", {.threads = threads,
                                                                   .shares_weights = true,
                                                                   .shares_formats = true,
                                                                   .shares_working_memory = true}));
  PlanRebinder rebinder(model, plans, *executor);
  std::vector<LoadedPlan> kept;
  for (size_t i = 2; i < arguments.size(); ++i) {
    PLAIT_ASSIGN_OR_RETURN(const Bindings shapes, ReadShapes(arguments[i]));
    std::printf("%s\n", arguments[i].c_str());
    PLAIT_RETURN_IF_ERROR(TimeParts(model, shapes));
    PlanChoice choice;
    PLAIT_RETURN_IF_ERROR(Timed("load", [&] {
      choice = rebinder.Choose(shapes);
      return absl::OkStatus();
    }));
    std::printf("  %s\n", choice.explanation.c_str());
    if (!choice.loaded.has_value()) continue;
    kept.push_back(*std::move(choice.loaded));
    PLAIT_RETURN_IF_ERROR(TimeRuns(*kept.back().executable));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const absl::Status status = plait::Run({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "rebind_times: %s\n", std::string(status.message()).c_str());
  return 1;
}
