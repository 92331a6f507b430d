// plait in a process of its own: answers JSON lines on stdin with JSON lines on stdout, as
// runtime_child.py does for the other runtimes. Started by peers.py as `plait_child THREADS
// PLACEMENT`; a process that waits for a command uses no processor time.
//
//   {"command": "load", "model": PATH, "folder": DIR}   {"version", "load_ms", "flops", "kernels"}
//   {"command": "time", "runs": N}                      {"samples_us": [...]}
//   {"command": "outputs", "folder": DIR}               {"ok": true}, and a file per output in it
//   {"command": "yardsticks"}                           {"multiply_add_gflops", "read_gbps",
//                                                        "are_threads_far"}
//   {"command": "quit"}                                 (the process ends)
//
// The folder of "load" holds a <name>.npy for each input. A run is all that a caller waits for
// whose inputs and outputs lie where the plan has them, row-major, as the other runtimes have
// theirs bound. A command that fails is answered {"error": "..."} and the
// process goes on.
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/files/tensor_folder.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// As runtime_child.py has it: they wake the threads up and are not counted.
constexpr int kUntimedRuns = 2;

int64_t FlopsOf(const Graph& graph) {
  int64_t flops = 0;
  for (NodeId node = 0; node < static_cast<NodeId>(graph.nodes().size()); ++node) {
    flops += WorkOf(graph, node).flops;
  }
  return flops;
}

class PlaitChild {
 public:
  explicit PlaitChild(std::unique_ptr<Executor> executor) : executor_(std::move(executor)) {}

  absl::StatusOr<Json> Answer(const Json& request) {
    const std::string command = request.value("command", "");
    if (command == "load") return Load(request.value("model", ""), request.value("folder", ""));
    if (command == "time") return Time(request.value("runs", 0));
    if (command == "outputs") return WriteOutputsTo(request.value("folder", ""));
    if (command == "yardsticks") return ReadYardsticks();
    return absl::InvalidArgumentError(absl::StrCat("unknown command \"", command, "\""));
  }

 private:
  absl::StatusOr<Json> Load(const std::string& path, const std::string& folder) {
    executable_.reset();
    const Stopwatch stopwatch;
    // Of warnings one counts: that a plan is ignored, which the grade tells.
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(LoadedExecutable loaded,
                           LoadExecutable(path, {.inputs = folder}, *executor_, &warnings));
    // A default plan would be timed as if it were the one that was searched for.
    if (loaded.model.grade == PlanGrade::kDefault) {
      return absl::FailedPreconditionError(loaded.model.explanation);
    }
    executable_ = std::move(loaded.executable);
    output_names_ = std::move(loaded.model.output_names);
    PLAIT_ASSIGN_OR_RETURN(inputs_, ReadInputs(folder, loaded.model.graph));
    PLAIT_RETURN_IF_ERROR(executable_->Run(inputs_).status());
    return Json{{"version", PLAIT_VERSION},
                {"load_ms", stopwatch.elapsed_us() / 1000},
                {"flops", FlopsOf(loaded.model.graph)},
                {"kernels", loaded.model.plan.steps.size()}};
  }

  absl::StatusOr<Json> Time(int runs) {
    PLAIT_RETURN_IF_ERROR(CheckLoaded());
    PLAIT_RETURN_IF_ERROR(executable_->SetInputs(inputs_));
    PLAIT_RETURN_IF_ERROR(executable_->Time(kUntimedRuns).status());
    std::vector<double> samples_us;
    for (int i = 0; i < runs; ++i) {
      // By a clock of our own: waking the team is part of what is waited for.
      const Stopwatch stopwatch;
      PLAIT_RETURN_IF_ERROR(executable_->Time(1).status());
      samples_us.push_back(stopwatch.elapsed_us());
    }
    return Json{{"samples_us", samples_us}};
  }

  absl::StatusOr<Json> WriteOutputsTo(const std::string& folder) {
    PLAIT_RETURN_IF_ERROR(CheckLoaded());
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, executable_->Run(inputs_));
    PLAIT_RETURN_IF_ERROR(WriteOutputs(folder, output_names_, outputs));
    return Json{{"ok", true}};
  }

  absl::StatusOr<Json> ReadYardsticks() {
    const bool are_threads_far = executor_->AreThreadsFar();
    const Yardsticks yardsticks = executor_->ReadYardsticks();
    return Json{{"multiply_add_gflops", yardsticks.multiply_add_flops_per_us / 1000},
                {"read_gbps", yardsticks.read_bytes_per_us / 1000},
                {"are_threads_far", are_threads_far}};
  }

  absl::Status CheckLoaded() const {
    if (executable_ != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError("no model is loaded");
  }

  std::unique_ptr<Executor> executor_;
  std::vector<std::string> output_names_;
  std::vector<Tensor> inputs_;
  std::unique_ptr<Executable> executable_;
};

int Main(absl::string_view threads_text, bool pins_threads) {
  int threads = 0;
  if (!absl::SimpleAtoi(threads_text, &threads) || threads < 1) {
    std::cerr << "plait_child: the number of threads must be positive\n";
    return 2;
  }
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      OpenExecutor("cpu", {.threads = threads, .pins_threads = pins_threads});
  if (!executor.ok()) {
    std::cerr << "plait_child: " << executor.status().message() << "\n";
    return 1;
  }
  PlaitChild child(*std::move(executor));
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!request.is_object()) return 2;
    if (request.value("command", "") == "quit") break;
    const absl::StatusOr<Json> answer = child.Answer(request);
    const Json error = {{"error", std::string(answer.status().message())}};
    std::cout << JsonLine(answer.ok() ? *answer : error) << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const bool is_placed = argc == 3;
  const absl::string_view placement = is_placed ? argv[2] : "";
  if (!is_placed || (placement != "pinned" && placement != "anywhere")) {
    std::cerr << "usage: plait_child THREADS pinned|anywhere (peers.py starts it)\n";
    return 2;
  }
  return plait::Main(argv[1], placement == "pinned");
}
