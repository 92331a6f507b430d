#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/memory.h"
#include "gpu_worker/backends/cpu/run/private_caches.h"
#include "gpu_worker/backends/cpu/run/segment.h"
#include "gpu_worker/backends/cpu/run/shared_weights.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "gpu_worker/backends/cpu/run/working_memory.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/executor/executor.h"

namespace plait {

// A plan bound to memory: activations in one arena at the plan's offsets, weights packed one after
// another in execution order, kernels created. Run allocates nothing but the returned tensors.
//
// Two ranges of memory are kept apart on purpose: the arena is written in every run and small
// enough to stay in the caches where the plan is good; the weights are read once per run, front to
// back, in the order in which steps run, which is what a processor prefetches best.
//
// Where executables share their working memory, each has inputs and outputs of its own all the
// same: these say something between runs.
// Not thread-safe: one thread calls at a time, which then leads as many threads of the executor's
// team as the plan is for.
class CpuExecutable : public Executable {
 public:
  // What executables of one executor share.
  struct Shared {
    Team* team;
    Onednn* onednn;
    PrivateCaches* private_caches;
    SharedWeights* weights = nullptr;         // nullptr: each has its own
    WorkingMemory* working_memory = nullptr;  // nullptr: each has its own; else one runs at a time
    bool shares_formats = false;              // see ExecutorOptions
    PieceGuard guard = PieceGuard::kNone;     // of all memory that is not shared
  };

  // REQUIRES: the plan passed CheckPlan or is OneKernelPlan's; what is shared outlives the
  // executable. Errors: InvalidArgument for a plan with more threads than the team;
  // InvalidArgument, Unimplemented or ResourceExhausted of a kernel, naming the step.
  static absl::StatusOr<std::unique_ptr<Executable>> Create(const Graph& graph, const Plan& plan,
                                                            const WeightSource& weights,
                                                            const Shared& shared);

  // Use Create: nothing is loaded yet.
  CpuExecutable(const Graph& graph, const Shared& shared) : graph_(graph), shared_(shared) {}

  // Inputs are brought into the formats that the plan reads and outputs back to row-major on the
  // calling thread, before and after the steps.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override;
  absl::StatusOr<BoundTensors> Bound() override;
  absl::Status RunBound(absl::Span<const BoundCopy> before,
                        absl::Span<const BoundCopy> after) override;
  absl::Status RunObserved(absl::Span<const Tensor> inputs, absl::Span<const int> steps,
                           StepObserver observe) override;
  // Microseconds per run, of the steps alone; the team is woken before each, outside of the time.
  absl::StatusOr<std::vector<double>> Time(int repeats) override;
  absl::StatusOr<std::vector<double>> TimeSteps() override;
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override;
  // Packed weights and what kernels folded from constants leave all caches; activations leave those
  // that a core has to itself.
  void EvictCaches() override;
  int fallback_nodes() const override;

  // For tests: leaves a value that is no number in every float of the arena and of scratch memory,
  // and all bits set in other elements, as if these had held something else meanwhile. Outputs that
  // are constants of the graph are lost. REQUIRES: working memory is not shared.
  void Poison();

  // Of packed weights that no other executable of the executor reads.
  int64_t own_weights_bytes() const { return weights_.used_bytes(); }

  // Of packed weights that it was the first of the executor's to pack, for others to read.
  int64_t newly_packed_bytes() const { return sharing_.has_value() ? sharing_->own_bytes() : 0; }

 private:
  // The steps of Create, in this order: each needs what the one before it has set.
  absl::Status PlaceValues(const Plan& plan);
  absl::Status PlaceOutputs(const Plan& plan, const WeightSource& weights);
  absl::Status ReserveMemory(const Plan& plan);
  absl::Status ReserveWorkingMemory(const Plan& plan);
  // Of shared memory no more than this stays the executable's, by lane. Takes it from the system
  // now: a first run would wait for more memory than it takes to load a plan, two milliseconds a
  // MiB on a virtual machine.
  void SettleWorkingMemory(absl::Span<const int64_t> scratch_bytes);
  absl::Status LoadSteps(const Plan& plan, const WeightSource& weights);
  // All segments once, on the inputs that are there. REQUIRES: the caller leads the team.
  absl::Status RunOnce();

  // A value of the plan in its place.
  Operand OperandOf(const Plan& plan, int value) const;
  // What the step reads and writes.
  absl::Status AddPlaces(const Plan& plan, const Step& step, const FamilyOffer& family,
                         LoadContext* context) const;
  // What of a value stays here when others run: nothing of activations, all of what a caller sees.
  std::vector<bool> KeptValues(const Plan& plan) const;
  // Copies a row-major value to places of the same type.
  static void CopyToPlaces(std::byte* bytes, absl::Span<const Operand> places);
  static Tensor ReadRowMajor(const Operand& operand);

  Graph graph_;
  Shared shared_;
  int threads_ = 1;
  MemoryRegion arena_;  // activations, then the caller's inputs and outputs
  // Activations, and scratch by lane; none where they are the executable's own.
  std::vector<WorkingMemory::Share> working_memory_;
  MemoryRegion weights_;
  std::optional<SharingExecutable> sharing_;  // what of them is shared
  // Kernels of one lane never run at the same time, so that one region serves all of them.
  std::vector<MemoryRegion> scratch_;         // per lane
  std::vector<std::byte*> places_;            // by value of the plan
  std::vector<std::vector<Operand>> inputs_;  // by graph input: one per format that the plan reads
  std::vector<Operand> outputs_;              // by graph output
  std::vector<MemoryRegion> unread_inputs_;   // bound memory of inputs that no step reads
  std::vector<LoadedStep> steps_;
  std::vector<std::vector<Operand>> step_inputs_;  // by step: what it reads
  std::vector<int> step_widths_;                   // by step
  std::vector<LaneSegment> segments_;
  // How often the steps have run: a step is finished in this run when its own number is as large,
  // so that nothing has to be reset between runs.
  int64_t runs_ = 0;
};

}  // namespace plait
