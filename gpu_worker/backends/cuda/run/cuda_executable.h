#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/run/implementations.h"
#include "gpu_worker/backends/cuda/run/plan_graphs.h"
#include "gpu_worker/backends/cuda/run/plan_memory.h"
#include "gpu_worker/executor/executor.h"

namespace plait::cuda {

// What the executables of one device share. Nothing is owned; all of it outlives them.
struct DeviceParts {
  Runtime* runtime;
  Stream stream;  // everything runs on it
  Staging* staging;
  Implementations* implementations;
  ClockWatch* clock;
  bool is_simulated = false;
  int multiprocessors = 1;
  // What a graph of one kernel takes, between two events, beyond what that kernel takes in a graph
  // of many.
  double graph_start_us = 0;
  // Enqueues what leaves nothing of a run in the device's caches. Null: there are none.
  std::function<Status(Stream)> evict = nullptr;
};

// A plan on a GPU: kernels chosen and captured into CUDA graphs, constants laid out and uploaded,
// everything else in one arena. A run uploads inputs, launches each graph once, and downloads
// outputs; it allocates no device memory. Nodes that the device has no kernel for run on the host,
// between two graphs, and count as fallback nodes. A step of several nodes that no candidate
// computes runs in parts (split_steps.h).
//
// On a simulated device times are what model:h200 predicts for the plan's steps (predicted_times.h)
// and nothing is run for them.
class CudaExecutable : public Executable {
 public:
  // REQUIRES: the plan passed CheckPlan or is OneKernelPlan's.
  // Errors: those of StepProblemOf and Implementations::Find, naming the step; of constants;
  // ResourceExhausted where the device's memory does not suffice; Internal of the device.
  static absl::StatusOr<std::unique_ptr<Executable>> Create(const plait::Graph& graph,
                                                            const Plan& plan,
                                                            const WeightSource& weights,
                                                            const DeviceParts& device);

  // Use Create: nothing is loaded yet.
  CudaExecutable(const plait::Graph& graph, const Plan& plan, const DeviceParts& device)
      : graph_(graph), given_(plan), device_(device) {}
  // Waits for what is running.
  ~CudaExecutable() override;

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override;
  absl::Status RunObserved(absl::Span<const Tensor> inputs, absl::Span<const int> steps,
                           StepObserver observe) override;
  // Runs back to back between two events, so many that a span takes 2 ms or more, and its time
  // divided by their number; the first one after EvictCaches() is a single run. Spans in which
  // the clock moved are taken again, and that is told on standard error (ClockWatch).
  absl::StatusOr<std::vector<double>> Time(int repeats) override;
  // Each step a graph of its own behind a whole run, without that graph's start: as the sample of a
  // lone kernel behind EvictCaches().
  absl::StatusOr<std::vector<double>> TimeSteps() override;
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override;
  void EvictCaches() override;
  int fallback_nodes() const override;
  std::vector<std::string> step_variants() const override;
  std::optional<double> compute_share() const override { return compute_share_; }
  DeviceClock TakeClock() override { return std::exchange(clock_, {}); }
  int64_t workspace_bytes() const override;

  // What a run launches: graphs, and the nodes and edges of all of them.
  size_t graph_nodes() const;
  size_t graph_edges() const;
  size_t graph_count() const;

 private:
  // Where a tensor lies, and how.
  struct Port {
    std::byte* data = nullptr;
    Format format = Format::kPlain;
    PixelPitch pitch = {};
  };
  // A graph output: a place on the device, a constant, or the graph input of this number.
  struct Output {
    Port place;
    Tensor constant;
    int input = -1;
  };

  // The steps of Create, in this order.
  absl::Status SplitSteps();
  absl::Status ReadSteps();
  absl::Status ReadPartsOf(size_t given);
  absl::Status ChooseImplementations();
  absl::Status PlaceValues(const PartialOrder& order);
  absl::Status PlaceOutputs(const WeightSource& weights);
  absl::Status BindOperands(const WeightSource& weights);
  absl::Status KeepHostConstants(const WeightSource& weights);
  absl::Status BuildSegments();

  absl::StatusOr<std::byte*> Allocate(int64_t bytes);
  // Device memory with these bytes.
  absl::StatusOr<std::byte*> Place(absl::string_view bytes);
  absl::StatusOr<const void*> OperandOf(const Step& step, const OperandValue& operand,
                                        const WeightSource& weights);
  absl::StatusOr<const void*> PackedWeightsOf(const KernelProblem& problem, int64_t count,
                                              const WeightSource& weights);
  // What the step enqueues; null for one that does nothing.
  std::function<Status(Stream)> LaunchOf(size_t step);

  // All segments once. Only enqueues, but for segments of the host.
  absl::Status Enqueue();
  absl::Status RunOnHost(const Step& step);
  absl::Status CheckAllIndices();
  // What a run came to, which says of its gathers whether their indices were right.
  absl::Status EndRun(absl::Status ran);
  absl::Status RunSteps(absl::Span<const int> steps, StepObserver observe);
  Port PortOf(int value) const;
  absl::StatusOr<Tensor> Download(const TensorType& type, const Port& place);
  // The value as it is now, row-major.
  absl::StatusOr<Tensor> ReadValue(int value);
  // Whether it is one kernel, which is timed without the start of its graph.
  bool is_lone_kernel() const {
    return given_.steps.size() == 1 && segments_.size() == 1 && segments_[0].graph.has_value();
  }
  absl::StatusOr<std::vector<double>> TimeSamples(int repeats);
  absl::Status BuildLoneChain(int count);
  absl::StatusOr<double> TimeLoneKernel(bool is_cold);
  // Of what a graph of one kernel takes between two events, what the kernel takes.
  double WithoutStart(double us) const;
  absl::Status BuildStepGraphs();
  // What each step of `plan_` takes in its place, in microseconds. REQUIRES: BuildStepGraphs().
  absl::StatusOr<std::vector<double>> TimeWork();
  // What `count` runs take between two events, in microseconds, while the clock stands still; cold:
  // behind EvictCaches().
  absl::StatusOr<double> TimeSpan(int count, absl::FunctionRef<absl::Status()> run,
                                  bool is_cold = false);

  const plait::Graph graph_;
  const Plan given_;
  Plan plan_;                     // what runs: `given_` with steps that nothing computes in parts
  std::vector<int> first_steps_;  // SplitPlan::first_steps
  const DeviceParts device_;
  std::vector<OwnedMemory> memory_;
  std::vector<StepProblem> work_;                       // by step
  std::vector<std::shared_ptr<Candidate>> candidates_;  // by step; null where nothing is launched
  std::vector<Operands> operands_;                      // by step
  std::vector<int64_t> workspace_offsets_bytes_;        // by step, from the arena's begin
  std::byte* arena_ = nullptr;
  std::vector<std::byte*> places_;         // by value of the plan
  std::vector<std::vector<Port>> inputs_;  // by graph input
  std::vector<Output> outputs_;            // by graph output
  // Constants by what they are and how they lie: kernels that read one share it.
  std::vector<std::pair<std::pair<ConstantRef, Format>, std::byte*>> constants_;
  // By constant and offset: see Operands::packed_weights.
  std::vector<std::pair<std::tuple<ConstantRef, int64_t, Format>, std::byte*>> packed_constants_;
  std::vector<std::pair<TensorId, Tensor>> host_constants_;  // that steps of the host read
  std::vector<PlanSegment> segments_;            // goes first, before what its launches use
  std::unique_ptr<ExecutableGraph> lone_chain_;  // null until a lone kernel was timed
  int lone_chain_runs_ = 0;
  int lone_chain_replays_ = 0;  // in a span; 0: not known yet
  // By step, null where it launches nothing; empty until steps were timed.
  std::vector<std::optional<ExecutableGraph>> step_graphs_;
  std::optional<double> compute_share_;
  bool is_evicted_ = false;
  DeviceClock clock_;
};

}  // namespace plait::cuda
