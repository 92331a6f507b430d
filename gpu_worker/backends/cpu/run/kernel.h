#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/run/memory.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

class Onednn;

// A kernel bound to its place in a plan: its tensors' addresses are fixed. Run by one thread at a
// time, which takes as many threads as the kernel is wide.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;

  // Errors: InvalidArgument when an input's values make no sense (an index out of range).
  virtual absl::Status Run() = 0;

  // Nodes that run as reference code.
  virtual int fallback_nodes() const { return 0; }
};

// A tensor in memory, aligned to a cache line.
struct Operand {
  TensorType type;
  Format format = Format::kPlain;
  std::byte* data = nullptr;

  float* floats() const { return reinterpret_cast<float*>(data); }
  // In elements, by logical axis.
  Shape strides() const;
};

// What a kernel family sees while it loads a kernel.
class LoadContext {
 public:
  struct Place {
    TensorId tensor;
    Format format;
    std::byte* data;
  };
  // Memory of the executable that the kernel becomes part of.
  struct Memory {
    MemoryRegion* weights;  // constants, in execution order
    MemoryRegion* scratch;  // of the thread that will run the kernel; reused by its next kernel
  };

  LoadContext(const Graph& graph, const Kernel& kernel, const WeightSource& weights, Onednn* onednn,
              Memory memory)
      : graph_(graph), kernel_(kernel), weights_(weights), onednn_(onednn), memory_(memory) {}

  const Graph& graph() const { return graph_; }
  const Kernel& kernel() const { return kernel_; }
  int width() const { return kernel_.width; }
  Onednn* onednn() const { return onednn_; }

  void AddPlace(const Place& place) { places_.push_back(place); }
  // Values that the step reads and writes, for kernels without nodes.
  absl::Span<const Place> places() const { return places_; }

  // A tensor that the kernel reads or writes; a constant is evaluated and laid into the weights,
  // row-major, at the first call for it.
  // Errors: InvalidArgument for a tensor that is not the kernel's; those of ConstantValue.
  absl::StatusOr<Operand> Find(TensorId tensor);

  // The value of a constant. Errors: NotFound for a missing weight.
  absl::StatusOr<Tensor> ConstantValue(TensorId tensor) const;

  // Uninitialized memory that lives as long as the executable, among the weights.
  absl::StatusOr<std::byte*> AllocateWeights(int64_t bytes) {
    return memory_.weights->Allocate(bytes);
  }

  // Memory for the time of one Run; any other kernel of the same thread overwrites it.
  // Errors: ResourceExhausted.
  absl::StatusOr<std::byte*> AllocateScratch(int64_t bytes) {
    return memory_.scratch->Allocate(bytes);
  }

  // InvalidArgument saying that the family cannot run the kernel's nodes or formats.
  absl::Status Refuse() const;

 private:
  const Graph& graph_;
  const Kernel& kernel_;
  const WeightSource& weights_;
  Onednn* onednn_;
  Memory memory_;
  std::vector<Place> places_;
};

// Binds a kernel. One function per line of families.def, defined in the family's file. It checks
// what it is given by the family's offer, because a plan may come from anywhere.
// Errors: InvalidArgument (LoadContext::Refuse) for what the family does not offer.
using LoadFunction = absl::StatusOr<std::unique_ptr<CpuKernel>> (*)(LoadContext*);

// The family of that name; nullptr when there is none.
LoadFunction FindKernelFamily(absl::string_view family);

// All families, in the order of families.def, for messages.
std::string KernelFamilyNames();

}  // namespace plait
