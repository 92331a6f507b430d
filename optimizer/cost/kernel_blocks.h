#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "optimizer/cost/occupancy.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {

// How the blocks of a kernel compute; see DescribedDevice.
enum class BlockKind { kLargeTile, kSmallTile, kElements };

// A kernel as a GPU runs it.
struct KernelBlocks {
  BlockKind kind = BlockKind::kElements;
  int64_t blocks = 0;           // 0: nothing is launched
  double flops_of_block = 0;    // with what of its tile lies outside of the result
  int blocks_side_by_side = 1;  // on one multiprocessor
  int64_t partial_bytes = 0;    // sums of parts of a product, written and read again
  int64_t steps_in_turn = 1;    // of a recurrence: all blocks wait for each other after each
  // Of plait's own kernels the one whose registers it takes, in generated_kernels.def:
  // "rows/t32/v4", or "rows" where that has none of the kernel, for the worst of its family. Empty:
  // a library's.
  std::string resources_of = {};
};

// Of a kernel of the catalog of described devices. Libraries choose tiles by rules of their own;
// this one takes tiles of 128x128, smaller ones where those are too few for all multiprocessors,
// and divides the depth of a product where these are too few as well. Kernels that plait generates
// leave each other the room that ptxas says. Pure and thread-safe.
// `catalog`: says which of those it is (KernelCatalog::GeneratedName); null: nobody does.
// nullopt: no such kernel is offered.
std::optional<KernelBlocks> BlocksOf(const LoneKernel& lone, int multiprocessors,
                                     const Multiprocessor& multiprocessor,
                                     const KernelCatalog* catalog);

}  // namespace plait
