#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// What the cpu backend can run, without any of what runs it. Pure, and linked by the search child.
//
//   family_offer.h       what a family says of itself (here)
//   <family>.cc          one family each, a constant: a line of families.def
//   cpu_catalog          asks every family, and so answers "which kernels start at this node"
//   family_versions      the version of each family's code
//   worth_dividing       when all threads are worth it, which several families ask alike
//   constant_product     products, and convolutions of pixels, as rows
//   digit_variants, bf16_variants                how products in planes are made
//   plane_layers                                 which are worth it
//   softmax_pattern, squeeze_excite_pattern, fma_convolution
//                        how softmax, squeeze_excite and conv_fma read their nodes
//   rnn_layer_pattern, integer_bounds
//                        the same of rnn_layer, and of integers of 8 bits
// Which nodes belong together is asked alike on every device: see backends/groups.
//
// A family's kernels load by the same functions that offer them (kernels/<family>.cc asks
// k<Family>Offer.runs), so that what is offered always loads.

// Loops over images take whole vectors of channels.
inline constexpr int64_t kLoopChannelsMin = 16;

// What numbers are written as before they are multiplied: see microkernel/plane_tile.h.
enum class Planes { kNone, kDigits, kBf16 };

// What the backend offers of one family. Every function is pure and thread-safe.
struct FamilyOffer {
  absl::string_view name;

  // Whether the family runs the node alone. nullptr: it runs no node alone.
  bool (*runs)(const Graph& graph, NodeId node) = nullptr;

  // See KernelCatalog::NeedsAdmission: of all kernels of the family.
  bool needs_admission = false;

  // Of all kernels of the family.
  Planes planes = Planes::kNone;

  // The least instruction set of a device that the family is offered for, by its name; see
  // base/instruction_set_names.h. Its kernels load on any other too, where they take very long.
  absl::string_view instruction_set = "generic";

  // Offered only for nodes that no other family runs.
  bool last_resort = false;

  // The sets of more than one node that a kernel runs and whose first node is `node`, ascending
  // each; none where there is nothing to fuse. nullptr: the family never fuses.
  std::vector<std::vector<NodeId>> (*grow)(const Graph& graph, NodeId node) = nullptr;

  // The rows in which a kernel of these nodes works, at least one and no two alike: what the cover
  // chooses from.
  // REQUIRES: `runs` or `grow` gave the nodes.
  std::vector<FormatRow> (*formats)(const Graph& graph, absl::Span<const NodeId> nodes) = nullptr;

  // The variants of a kernel of these nodes that work in a row, at least one. nullptr: there is
  // one, which has no name, because the formats of the kernel's tensors say all.
  std::vector<std::string> (*variants)(const Graph& graph, absl::Span<const NodeId> nodes,
                                       const FormatRow& row) = nullptr;

  // See KernelCatalog::MoreExact. nullptr: no variant has a more exact one.
  std::optional<std::string> (*more_exact)(absl::string_view variant) = nullptr;

  // See KernelCatalog::LessExact. nullptr: no variant has a less exact one.
  std::optional<std::string> (*less_exact)(absl::string_view variant) = nullptr;

  // See KernelCatalog::ReadsParts and WritesParts: of all kernels of the family.
  bool reads_parts = false;
  bool writes_parts = false;

  // See KernelCatalog::ExpectedShare. nullptr: a half.
  double (*expected_share)(const Kernel& kernel) = nullptr;

  // Whether the kernel, given as one that takes one thread, may gain from taking them all.
  // nullptr: never.
  bool (*worth_dividing)(const Graph& graph, const Kernel& kernel) = nullptr;

  // Whether the family copies a tensor between two formats; such kernels have no nodes. nullptr: it
  // converts nothing.
  bool (*converts)(const TensorType& type, Format from, Format to) = nullptr;
};

#define PLAIT_CPU_FAMILY(name, Name) extern const FamilyOffer k##Name##Offer;
#include "gpu_worker/backends/cpu/families.def"
#undef PLAIT_CPU_FAMILY

// Every family, in the order of families.def.
absl::Span<const FamilyOffer* const> CpuFamilies();

}  // namespace plait
