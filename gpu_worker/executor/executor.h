#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/thread_distance.h"
#include "optimizer/cost/device_clock.h"
#include "optimizer/cost/yardsticks.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/kernels/lone_kernel.h"
#include "optimizer/plan/plan.h"

// Map of this folder: what every backend has in common, and what is done with any of them.
//   executor          the interface: a device, and a graph loaded on it
//   check_load        what is checked before anything of a graph is loaded or run
//   memory_limits     how much memory a graph takes, and how much there is
//   one_kernel_plan   the plan by which a backend loads a kernel that is timed alone
//   make_inputs       seeded inputs that give an operator something to do
//   profile_kernel    times one kernel, for the profiles that a search asks for
//   profile_batch     times several between readings of the device's yardsticks
//   measure_plans     times whole plans beside each other and compares their outputs
//   time_steps        times the steps of whole plans in their places
//   compare_outputs   when outputs count as equal
//   measure_errors    how far kernels of a plan are from the exact results of their layers
//   lone_layer        one convolution or product of a graph, with its constants, by itself
//   layer_operands    the matrices that a convolution or product multiplies
//   sampled_products  some of a layer's results in float64, and as a serial fp32 sum has them
//   hard_layers       inputs and weights that are hard for kernels in other numbers than fp32
//   self_test         whether a device's kernels are right
//   settled_yardsticks   how fast the device is when it is all ours
//   thread_distance   whether the device's threads are on cores near each other
//   stopwatch         microseconds
// Backends implement the interface in gpu_worker/backends; gpu_worker/process brings the tasks.
namespace plait {

// Is shown what a step is about to read: a tensor for each of InputsOf(graph, nodes of its kernel),
// in that order, row-major and with bytes of its own; of a reorder, its one input. A status that is
// not OK ends the run. Must not use the executor.
using StepObserver = absl::FunctionRef<absl::Status(int step, absl::Span<const Tensor> inputs)>;

// A tensor in memory of an executable's, row-major.
struct BoundTensor {
  TensorType type;
  std::byte* data = nullptr;
};

// Bytes to be copied between an executable's memory and a caller's.
struct BoundCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;  // apart from `to`
  int64_t bytes = 0;
};

// Where an executable reads inputs and leaves outputs, in graph order.
struct BoundTensors {
  std::vector<BoundTensor> inputs;
  std::vector<BoundTensor> outputs;
};

// A graph loaded on a device by a plan: weights are packed, buffers allocated.
// Not thread-safe; use from one thread at a time.
class Executable {
 public:
  virtual ~Executable() = default;

  // Runs once. Inputs in graph order, row-major; outputs come row-major. Allocates nothing but the
  // returned tensors.
  // The returned tensors own their bytes.
  // Errors: InvalidArgument when an input's count or type differs from the graph's.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) = 0;

  // The executable's own memory of inputs and outputs: who writes inputs there and reads outputs
  // there copies nothing. Inputs stay as they were written; outputs are good until the next run.
  // Lives as long as the executable. Errors: Unimplemented by a backend that cannot.
  virtual absl::StatusOr<BoundTensors> Bound();

  // Runs once, on what is in the bound inputs. Makes the copies `before` that and, if it succeeds,
  // `after` it, with all threads of the run: for one of 8 ms it counts who copies 600 KB, and that
  // nobody has fallen asleep meanwhile. REQUIRES: Bound() was called, and succeeded.
  virtual absl::Status RunBound(absl::Span<const BoundCopy> before,
                                absl::Span<const BoundCopy> after);

  // Runs once, one step after the other in the plan's order, each as wide as it is, and shows
  // `observe` what those of `steps` read before they run, after which their bytes may become
  // another tensor's. The outputs are not copied out.
  // REQUIRES: `steps` are ascending, and the plan has them.
  // Errors: as Run; those of `observe`; Unimplemented by a backend that cannot.
  virtual absl::Status RunObserved(absl::Span<const Tensor> inputs, absl::Span<const int> steps,
                                   StepObserver observe);

  // Runs `repeats` times on the inputs of the last SetInputs and returns the time of each run in
  // microseconds, from the first kernel's start to the last one's end; nothing is copied out.
  // REQUIRES: SetInputs was called.
  virtual absl::StatusOr<std::vector<double>> Time(int repeats) = 0;

  // Runs once on the inputs of the last SetInputs, one step after the other in the plan's order,
  // each as wide as it is, and returns the time of each step in microseconds: what kernels take
  // where they stand, behind those whose results they read. Steps that the plan runs side by side
  // do not, so that the sum may be more than what Time says.
  // REQUIRES: SetInputs was called. Errors: as Run; Unimplemented by a backend that cannot.
  virtual absl::StatusOr<std::vector<double>> TimeSteps();

  // Copies the inputs, so that they need not outlive the call; they stay until the next SetInputs
  // or Run.
  // Errors: as Run.
  virtual absl::Status SetInputs(absl::Span<const Tensor> inputs) = 0;

  // Leaves the device's caches as if a large network had run since the last run: the weights are in
  // none, and inputs and outputs are where the kernels before have moved them. A kernel that is
  // timed alone would otherwise look faster than it is in its place.
  virtual void EvictCaches() = 0;

  // Nodes that run as reference code, because the backend has no kernel for them.
  virtual int fallback_nodes() const = 0;

  // By step of the plan: its variant with the implementation that was chosen where the variant
  // leaves that open, which names the same one when the plan is loaded again; empty for a step that
  // left nothing open. None where the backend never chooses.
  virtual std::vector<std::string> step_variants() const { return {}; }

  // The share of the device that it keeps busy, where the backend knows that of what it launches:
  // for a kernel of its own. None: it is the kernel's width that says so.
  virtual std::optional<double> compute_share() const { return std::nullopt; }

  // The device's clock in what Time() has timed since the last call, where it can be read.
  virtual DeviceClock TakeClock() { return {}; }

  // Of the device's memory, what its implementations compute in while they run, if that is known:
  // the most of any step.
  virtual int64_t workspace_bytes() const { return 0; }
};

// What an executor is granted of its machine.
struct ExecutorOptions {
  int threads = 0;               // cores; 0: all
  int64_t memory_bytes_max = 0;  // 0: all that this process may have
  // Whether threads stay on one core each while they compute: for a program that has the machine to
  // itself. Beside another one that does so too, both would wait for each other.
  bool pins_threads = false;
  // Whether its threads are those of all executors of this process that say so: as many as the
  // process has processors. Each run takes `threads` of them, and waits until so many are free.
  bool shares_threads = false;
  // Whether its executables share packed weights where these are the same, as those of one model
  // for several shapes have them: for a program that runs and does not measure, since what is
  // shared lies in the order in which another plan reads it.
  bool shares_weights = false;
  // Whether families that can read each other's packed weights pack them in the one format that
  // all of them read, even where one of them takes up to 5 % longer by it: for a program that runs
  // a model at several shapes by plans of different families, each of which would else pack the
  // weights again.
  bool shares_formats = false;
  // Whether its executables share the memory of what they compute on the way, of which only one at
  // a time may then run: for a program that runs a model at several shapes in turn. Another one may
  // be loaded or go meanwhile, on one other thread each.
  bool shares_working_memory = false;
  // The best instructions that kernels may use, as the device's instruction_set names them; "": all
  // that there are. Counts for the whole process, and its first executor decides.
  std::string instruction_set = {};
  // Where a backend that compiles kernels keeps them for later processes, a folder of this user's
  // own; "": nowhere.
  std::string kernel_cache = {};
};

// A device, free of RPC, storage and server code: the same library serves the worker and
// `plait run|bench|verify`. One Executor owns its device's threads or streams. Not thread-safe.
//
// A graph, a plan or a kernel may come from a stranger's file or a hostile process. All that can be
// said of them without the device's own code is checked here, for every backend, before a backend
// sees them: a backend cannot be reached past these checks.
class Executor {
 public:
  virtual ~Executor() = default;

  // The same for the executor's whole life: its fingerprint is part of every profile's key. Its
  // memory_bytes are known.
  virtual const DeviceDescription& device() const = 0;

  // How fast the device is now, by two fixed pieces of work of some milliseconds; unknown for a
  // device without them.
  virtual Yardsticks ReadYardsticks() { return {}; }

  // The yardstick of multiply-adds alone, read within a millisecond by as many threads as a kernel
  // of this width takes, for all threads together: two threads that somebody makes share a core are
  // slower, and one alone is not. 0: unknown. REQUIRES: 1 <= width <= device().threads.
  virtual double ReadMultiplyAddRate(int /*width*/) { return 0; }

  // What a cache line takes from one of the device's threads to the next, in microseconds, read
  // within a millisecond. 0: unknown, as of a device without threads that share memory.
  virtual double ReadHandoverUs() { return 0; }

  // Whether the device's threads are farther from each other now than they were (ThreadDistance).
  bool AreThreadsFar() { return thread_distance_.IsFar(ReadHandoverUs()); }

  // Where they are, waits until they are not, which takes seconds, or for as long as is allowed:
  // then the machine counts as being so, and nobody waits before it was otherwise. A stop ends it.
  void AwaitNearThreads(const std::stop_token& stop);

  // How long AwaitNearThreads may wait from now on, all calls together; at first not at all.
  void AllowWaits(absl::Duration time_max) { wait_left_ = time_max; }
  absl::Duration wait_left() const { return wait_left_; }

  // Loads a graph by a plan. The executable must not outlive the executor.
  // Errors: InvalidArgument when CheckTypes or CheckPlan fails or the plan is for another device or
  // graph; NotFound for a weight that `weights` lacks; ResourceExhausted when memory does not
  // suffice.
  absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, const Plan& plan,
                                                   const WeightSource& weights);

  // Loads one kernel over all nodes of `graph` (none: a reorder of its only input, which is also
  // its output) so that it can be timed alone. Inputs and outputs lie in the kernel's formats;
  // SetInputs and Run convert outside of what Time measures.
  // Errors: InvalidArgument when CheckTypes fails, the kernel does not fit the graph or the backend
  // has no such kernel; Unimplemented when the library refuses it; ResourceExhausted.
  absl::StatusOr<std::unique_ptr<Executable>> LoadKernel(const Graph& graph, const Kernel& kernel,
                                                         const WeightSource& weights);

  // Whether the device still works: after some failures, as of a kernel that touched what is not
  // its own, a GPU does nothing for this process any more. What was enqueued has ended then.
  // Errors: what the device says.
  virtual absl::Status CheckHealth() { return absl::OkStatus(); }

  // Says that these kernels are about to be loaded: a backend that has to build them can do so with
  // all of the host's processors. One that cannot be loaded is told of when it is. Stopped, it
  // leaves some of them to be built when they are loaded.
  void Anticipate(absl::Span<const LoneKernel> kernels, const std::stop_token& stop);

 protected:
  explicit Executor(ThreadDistance thread_distance = ThreadDistance())
      : thread_distance_(thread_distance) {}

 private:
  // Whatever LoadChecked would have to build, for graphs and plans that it will be given.
  virtual void AnticipateChecked(absl::Span<const std::pair<const Graph*, Plan>> /*kernels*/,
                                 const std::stop_token& /*stop*/) {}

  // Loads what Load or LoadKernel has checked. The plan passed CheckPlan or is OneKernelPlan's.
  // Whether the device has its kernels, and whether they run these nodes, is still to be checked.
  // Errors: those of Load and LoadKernel.
  virtual absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph,
                                                                  const Plan& plan,
                                                                  const WeightSource& weights) = 0;

  ThreadDistance thread_distance_;
  absl::Duration wait_left_;
};

}  // namespace plait
