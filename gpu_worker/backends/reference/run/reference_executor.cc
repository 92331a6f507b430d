#include <algorithm>
#include <cstring>

#include "base/machine_memory.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/check_load.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/plan/loaded_bytes.h"

namespace plait {
namespace {

// Runs a plan's nodes by their reference evaluation, step after step, on one thread. Streams,
// formats and memory play no part: the plan only says in which order nodes run.
class ReferenceExecutable : public Executable {
 public:
  ReferenceExecutable(const Graph& graph, const Plan& plan) : graph_(graph) {
    for (const Step& step : plan.steps) {
      steps_.push_back(step.kernel.nodes);
      // A reorder reads a value and changes none.
      reads_.push_back(step.kernel.nodes.empty()
                           ? std::vector<TensorId>{plan.values[step.inputs[0]].tensor}
                           : InputsOf(graph, step.kernel.nodes));
    }
  }

  // What a run of the graph holds at its end: all of its tensors.
  static int64_t Bytes(const Graph& graph) {
    int64_t bytes = 0;
    for (const TensorInfo& tensor : graph.tensors()) {
      bytes = SaturatingAdd(bytes, tensor.type.bytes());
    }
    return bytes;
  }

  // Once, at load: constants that are computed from others would cost every run.
  absl::Status EvaluateConstants(const WeightSource& weights) {
    constants_.resize(graph_.tensor_count());
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (graph_.tensor(id).constant == nullptr) continue;
      PLAIT_ASSIGN_OR_RETURN(constants_[id],
                             EvaluateConstant(*graph_.tensor(id).constant, weights));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> values, RunOnce({}, IgnoreStep));
    std::vector<Tensor> outputs;
    for (const TensorId output : graph_.outputs()) outputs.push_back(values[output]);
    return outputs;
  }

  absl::StatusOr<BoundTensors> Bound() override {
    if (memory_.empty()) {
      bound_.inputs = Reserve(graph_.inputs());
      bound_.outputs = Reserve(graph_.outputs());
    }
    return bound_;
  }

  absl::Status RunBound(absl::Span<const BoundCopy> before,
                        absl::Span<const BoundCopy> after) override {
    CopyAll(before);
    inputs_.clear();
    for (const BoundTensor& input : bound_.inputs) {
      const auto* const bytes = reinterpret_cast<const char*>(input.data);
      inputs_.emplace_back(
          input.type, absl::string_view(bytes, static_cast<size_t>(input.type.bytes())), nullptr);
    }
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> values, RunOnce({}, IgnoreStep));
    for (size_t i = 0; i < bound_.outputs.size(); ++i) {
      const absl::string_view bytes = values[graph_.outputs()[i]].bytes();
      if (!bytes.empty()) std::memcpy(bound_.outputs[i].data, bytes.data(), bytes.size());
    }
    CopyAll(after);
    return absl::OkStatus();
  }

  absl::Status RunObserved(absl::Span<const Tensor> inputs, absl::Span<const int> steps,
                           StepObserver observe) override {
    PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
    return RunOnce(steps, observe).status();
  }

  absl::StatusOr<std::vector<double>> Time(int repeats) override {
    std::vector<double> samples;
    for (int i = 0; i < repeats; ++i) {
      const Stopwatch stopwatch;
      PLAIT_RETURN_IF_ERROR(RunOnce({}, IgnoreStep).status());
      samples.push_back(stopwatch.elapsed_us());
    }
    return samples;
  }

  absl::Status SetInputs(absl::Span<const Tensor> inputs) override {
    PLAIT_RETURN_IF_ERROR(CheckInputs(graph_, inputs));
    inputs_.assign(inputs.begin(), inputs.end());
    return absl::OkStatus();
  }

  // Nobody asks how fast it is.
  void EvictCaches() override {}

  // Every node runs as reference code, and none as a substitute for something better.
  int fallback_nodes() const override { return 0; }

 private:
  static absl::Status IgnoreStep(int /*step*/, absl::Span<const Tensor> /*inputs*/) {
    return absl::OkStatus();
  }

  static void CopyAll(absl::Span<const BoundCopy> copies) {
    for (const BoundCopy& copy : copies) {
      if (copy.bytes > 0) std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    }
  }

  // Apart from each other, and somewhere even without an element.
  std::vector<BoundTensor> Reserve(absl::Span<const TensorId> tensors) {
    std::vector<BoundTensor> reserved;
    for (const TensorId tensor : tensors) {
      const TensorType& type = graph_.type(tensor);
      memory_.emplace_back(static_cast<size_t>(std::max<int64_t>(type.bytes(), 1)));
      reserved.push_back({type, memory_.back().data()});
    }
    return reserved;
  }

  // Every value is kept until the end, whatever the plan says of memory: a wrong plan of memory
  // cannot make the reference wrong.
  absl::StatusOr<std::vector<Tensor>> RunOnce(absl::Span<const int> observed,
                                              StepObserver observe) const {
    std::vector<Tensor> values = constants_;
    for (size_t i = 0; i < inputs_.size(); ++i) values[graph_.inputs()[i]] = inputs_[i];
    for (int step = 0; step < static_cast<int>(steps_.size()); ++step) {
      if (!observed.empty() && observed.front() == step) {
        std::vector<Tensor> read;
        for (const TensorId tensor : reads_[step]) read.push_back(values[tensor]);
        PLAIT_RETURN_IF_ERROR(observe(step, read));
        observed.remove_prefix(1);
      }
      for (const NodeId id : steps_[step]) PLAIT_RETURN_IF_ERROR(RunNode(id, values));
    }
    return values;
  }

  absl::Status RunNode(NodeId id, std::vector<Tensor>& values) const {
    const Node& node = graph_.node(id);
    std::vector<const Tensor*> arguments;
    for (const TensorId input : node.inputs) {
      arguments.push_back(input == kNoTensor ? nullptr : &values[input]);
    }
    PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> results, EvaluateNode(graph_, id, arguments));
    for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
      if (node.outputs[i] != kNoTensor) values[node.outputs[i]] = std::move(results[i]);
    }
    return absl::OkStatus();
  }

  Graph graph_;
  std::vector<std::vector<NodeId>> steps_;    // in the plan's order
  std::vector<std::vector<TensorId>> reads_;  // by step
  std::vector<Tensor> constants_;             // by tensor
  std::vector<Tensor> inputs_;
  BoundTensors bound_;
  std::vector<std::vector<std::byte>> memory_;  // of `bound_`
};

// The same on every machine but for its memory, so that its plans and profiles may go anywhere.
class ReferenceExecutor : public Executor {
 public:
  explicit ReferenceExecutor(int64_t memory_bytes_max) {
    device_.id = "reference";
    device_.backend = "reference";
    device_.name = "reference evaluation";
    device_.fingerprint = "reference/1";
    device_.instruction_set = "none";
    device_.memory_bytes = MachineMemoryBytesUpTo(memory_bytes_max);
  }

  const DeviceDescription& device() const override { return device_; }

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource& weights) override {
    PLAIT_RETURN_IF_ERROR(CheckMemory("reference", ReferenceExecutable::Bytes(graph), device_));
    auto executable = std::make_unique<ReferenceExecutable>(graph, plan);
    PLAIT_RETURN_IF_ERROR(executable->EvaluateConstants(weights));
    return executable;
  }

  DeviceDescription device_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> ReferenceDeviceIds() { return std::vector<std::string>(); }

absl::StatusOr<std::unique_ptr<Executor>> OpenReferenceExecutor(absl::string_view /*device_id*/,
                                                                const ExecutorOptions& options) {
  return std::make_unique<ReferenceExecutor>(options.memory_bytes_max);
}

}  // namespace plait
