#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait::cuda {

// What the cuda backend can run, without any of what runs it. Pure, builds without CUDA, and is
// linked by the search child. The map:
//   cuda_family.h        what a family says of itself (here)
//   <family>.cc          one family each, a constant: a line of families.def
//   cuda_catalog         asks every family, and so answers "which kernels start at this node"
//   kernel_problem       what a kernel is to the device: its problem and operands
//   operands             operands as several families take them from a graph
//   fused_chain          what follows a convolution or product in one kernel
//   convolution          convolutions as problems
//   expression_text      elementwise nodes as an expression
//   scale_shift_constants            a normalization of constant statistics as two constants

// Kernels that no kernel of the device computes: another processor has to.
constexpr absl::string_view kHostFamily = "other";

// One family. Every function is pure and thread-safe.
struct CudaFamily {
  absl::string_view name;

  // The sets of nodes that may be one kernel and whose first node is `node`, ascending each.
  // More than have a problem: what has none is not offered.
  std::vector<std::vector<NodeId>> (*groups)(const plait::Graph& graph, NodeId node) = nullptr;

  // The formats in which a kernel of these nodes may work.
  std::vector<FormatRow> (*rows)(const plait::Graph& graph,
                                 absl::Span<const NodeId> nodes) = nullptr;

  // The kernel's problem, but for its precision. Its nodes and formats may be anything that a graph
  // of checked types has, and all nodes must stand in the problem. nullopt: it is none.
  std::optional<KernelProblem> (*problem)(const plait::Graph& graph,
                                          const plait::Kernel& kernel) = nullptr;

  bool multiplies = false;   // has a form in which tensor cores may round inputs to TF32
  bool has_16_bits = false;  // has forms in which all that it reads and writes lies in 16 bits
  bool takes_parts = false;  // see KernelCatalog::ReadsParts; it writes them too
};

#define PLAIT_CUDA_FAMILY(name, Name) extern const CudaFamily k##Name##Family;
#include "gpu_worker/backends/cuda/families.def"
#undef PLAIT_CUDA_FAMILY

// Every family, in the order of families.def.
absl::Span<const CudaFamily* const> CudaFamilies();

// nullptr: there is none of that name.
const CudaFamily* FindCudaFamily(absl::string_view name);

}  // namespace plait::cuda
