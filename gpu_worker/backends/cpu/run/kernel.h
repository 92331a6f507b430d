#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/run/memory.h"
#include "gpu_worker/backends/cpu/run/shared_weights.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

// Map of this folder, from the outside in.
//   cpu_executor    the cpu's Executor: checks a plan against the device and loads it (no header)
//   cpu_executable  a loaded plan: where every tensor lies (in cpu_executable_memory), and Run and
//                   Time over its segments
//   segment         consecutive steps of a plan, run in order or as lanes that wait for each other
//   kernel          what a kernel family sees while it loads and runs; the table of the families
//   memory          ranges of address space, handed out in aligned pieces
//   working_memory  activations and scratch that several loaded plans write in turn
//   shared_weights  packed weights that several loaded plans read
//   strided_copy    the copy that all movement of tensors comes down to
//   device          what this machine's processor grants, and what times on it depend on
//   processor       what the processor says of itself
//   yardsticks      how fast the processor is now
//   handover_time   how far its cores are from each other
// The threads are in ../team. The families themselves are in ../kernels, one file each; what they
// offer to the search is in
// ../offers.
namespace plait {

// What a family says of itself; see ../offers.
struct FamilyOffer;

// The engine and stream that kernels create their primitives with; see ../onednn.
class Onednn;

// A kernel bound to its place in a plan: its tensors' addresses are fixed. Run by one thread at a
// time, which takes as many threads as the kernel is wide.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;

  // Reads and writes the tensors that the kernel was loaded with, and scratch memory that holds
  // nothing before and after. Allocates no memory of its own unless the family says so (reference
  // does).
  // Errors: InvalidArgument when an input's values make no sense (an index out of range).
  // REQUIRES: TeamWidth() is what it was when the kernel was loaded.
  virtual absl::Status Run() = 0;

  // Nodes that run as reference code.
  virtual int fallback_nodes() const { return 0; }
};

// A tensor in memory, aligned to a cache line.
// Constants are the executable's own; other tensors lie in its arena, where the plan may give the
// same bytes to another tensor before and after. Nothing here is owned.
struct Operand {
  TensorType type;
  Format format = Format::kPlain;
  std::byte* data = nullptr;
  // Of the image that this one is a part of, between whose pixels the other channels lie; 0: it is
  // a part of none. Only for families that say so of themselves (FamilyOffer::reads_parts).
  int64_t whole_channels = 0;

  // REQUIRES: the type is float32.
  float* floats() const { return reinterpret_cast<float*>(data); }
  // In elements, by logical axis.
  Shape strides() const;
  // In elements, from one pixel of an image in channels-last to the next.
  int64_t pixel_elements() const { return whole_channels > 0 ? whole_channels : type.shape[1]; }
};

// What a kernel family sees while it loads a kernel.
// Made for the load of one step and gone afterwards: what a kernel keeps, it copies. An Operand's
// address stays good for as long as the executable. Not thread-safe.
class LoadContext {
 public:
  // One value of the plan: a tensor may have two places in different formats, as a reorder's has.
  struct Place {
    TensorId tensor;
    Operand operand;
  };
  // Memory of the executable that the kernel becomes part of.
  struct Memory {
    MemoryRegion* weights;  // constants, in execution order
    MemoryRegion* scratch;  // of the thread that will run the kernel; reused by its next kernel
    MemoryRegion* loading;  // reused by the next load
    SharingExecutable* sharing = nullptr;  // nullptr: the executable shares no weights
    bool shares_formats = false;           // see ExecutorOptions
  };

  // All that is passed must outlive the context, and the regions must outlive the kernel too.
  LoadContext(const Graph& graph, const Kernel& kernel, const WeightSource& weights, Onednn* onednn,
              Memory memory)
      : graph_(graph), kernel_(kernel), weights_(weights), onednn_(onednn), memory_(memory) {
    if (memory.sharing != nullptr) packed_from_ = PackedFrom();
  }

  const Graph& graph() const { return graph_; }
  const Kernel& kernel() const { return kernel_; }
  // The threads that the kernel may take: from 1 to all of the plan's.
  int width() const { return kernel_.width; }
  Onednn* onednn() const { return onednn_; }
  // Whether to pack weights as other families do that can read them.
  bool shares_formats() const { return memory_.shares_formats; }

  // In the order of the step's inputs, then of its outputs. Called before the family sees the
  // context.
  void AddPlace(const Place& place) { places_.push_back(place); }
  // Values that the step reads and writes, for kernels without nodes.
  absl::Span<const Place> places() const { return places_; }

  // A tensor that the kernel reads or writes; a constant is evaluated and laid into the weights,
  // row-major, at the first call for it.
  // Errors: InvalidArgument for a tensor that is not the kernel's; those of ConstantValue.
  absl::StatusOr<Operand> Find(TensorId tensor);

  // The value of a constant.
  // Errors: NotFound for a missing weight.
  absl::StatusOr<Tensor> ConstantValue(TensorId tensor) const;

  // Uninitialized memory that lives as long as the executable, among the weights.
  // For what a kernel makes of constants: packed matrices, folded statistics, scaled addends.
  // Errors: ResourceExhausted.
  absl::StatusOr<std::byte*> AllocateWeights(int64_t bytes) {
    return memory_.weights->Allocate(bytes);
  }

  // The same for what is made of the kernel's constants alone, in a way that `form` and the number
  // of bytes say all of that the constants, the operators' attributes and the variant do not: where
  // another executable has made it, it is packed already and must not be written. Settings of int64
  // count as no constants here, because they follow from sizes.
  // Errors: ResourceExhausted.
  absl::StatusOr<SharingExecutable::Place> AllocatePacked(int64_t bytes, const Fingerprint& form);

  // The same for what is made of this constant alone, and of which `form` and the number of bytes
  // say all that the constant does not: kernels of other widths, variants and families, and of
  // other nodes beside the one that reads it, have it in common. REQUIRES: `tensor` is a constant.
  // Errors: ResourceExhausted.
  absl::StatusOr<SharingExecutable::Place> AllocatePackedOf(TensorId tensor, int64_t bytes,
                                                            const Fingerprint& form);

  // Memory for the time of one Run; any other kernel of the same thread overwrites it.
  // Errors: ResourceExhausted.
  absl::StatusOr<std::byte*> AllocateScratch(int64_t bytes) {
    return memory_.scratch->Allocate(bytes);
  }

  // Uninitialized memory for the time of the load, of pages that other loads have touched before.
  // Errors: ResourceExhausted.
  absl::StatusOr<std::byte*> AllocateForLoad(int64_t bytes) {
    return memory_.loading->Allocate(bytes);
  }

  // InvalidArgument saying that the family cannot run the kernel's nodes or formats.
  // The message names family, variant and operators, and is the same for every reason, because a
  // plan that comes from our own offers never sees it.
  absl::Status Refuse() const;

 private:
  // A constant's value, row-major among the weights.
  absl::StatusOr<std::byte*> RowMajor(TensorId tensor);
  // A place for the piece of that key; where nothing is shared, among the executable's own weights.
  absl::StatusOr<SharingExecutable::Place> AllocatePiece(const Fingerprint& key, int64_t bytes);
  // What all pieces are packed from that the kernel packs.
  Fingerprint PackedFrom() const;

  const Graph& graph_;
  const Kernel& kernel_;
  const WeightSource& weights_;
  Onednn* onednn_;
  Memory memory_;
  Fingerprint packed_from_;
  int packed_pieces_ = 0;
  std::vector<Place> places_;
};

// Binds a kernel. One function per line of families.def, defined in the family's file. It checks
// what it is given by the family's offer, because a plan may come from anywhere.
// Errors: InvalidArgument (LoadContext::Refuse) for what the family does not offer.
using LoadFunction = absl::StatusOr<std::unique_ptr<CpuKernel>> (*)(LoadContext*);

// A line of families.def.
struct KernelFamily {
  const FamilyOffer& offer;
  LoadFunction load;
};

// The family of that name; nullptr when there is none.
// Names are compared as they are; a plan may hold any text.
const KernelFamily* FindKernelFamily(absl::string_view name);

// All families, in the order of families.def, for messages.
std::string KernelFamilyNames();

}  // namespace plait
