#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/memory.h"
#include "gpu_worker/backends/cpu/run/segment.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "gpu_worker/executor/executor.h"

namespace plait {

// A plan bound to memory: activations in one arena at the plan's offsets, weights packed one after
// another in execution order, kernels created. Run allocates nothing but the returned tensors.
class CpuExecutable : public Executable {
 public:
  // REQUIRES: the plan passed CheckPlan or is OneKernelPlan's; `onednn` outlives the executable.
  // Errors: InvalidArgument, Unimplemented or ResourceExhausted of a kernel, naming the step.
  static absl::StatusOr<std::unique_ptr<Executable>> Create(const Graph& graph, const Plan& plan,
                                                            const WeightSource& weights,
                                                            Onednn* onednn);

  // Use Create: nothing is loaded yet.
  explicit CpuExecutable(const Graph& graph) : graph_(graph) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override;
  absl::StatusOr<std::vector<double>> Time(int repeats) override;
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override;
  void EvictWeights() override;
  int fallback_nodes() const override;

 private:
  absl::Status PlaceValues(const Plan& plan);
  absl::Status PlaceOutputs(const Plan& plan, const WeightSource& weights);
  absl::Status ReserveMemory(const Plan& plan);
  absl::Status LoadSteps(const Plan& plan, const WeightSource& weights, Onednn* onednn);
  absl::Status RunOnce();

  // Where an input's row-major bytes go, or an output's come from.
  struct Port {
    TensorType type;
    Format format = Format::kPlain;
    std::byte* data = nullptr;
  };

  Graph graph_;
  int threads_ = 1;
  MemoryRegion arena_;  // activations, then the caller's inputs and outputs
  MemoryRegion weights_;
  std::vector<MemoryRegion> scratch_;      // per lane
  std::vector<std::byte*> places_;         // by value of the plan
  std::vector<std::vector<Port>> inputs_;  // by graph input: one per format that the plan reads
  std::vector<Port> outputs_;              // by graph output
  std::vector<LoadedStep> steps_;
  std::vector<Segment> segments_;
  int64_t runs_ = 0;
};

}  // namespace plait
