#pragma once

#include <span>
#include <vector>

#include "gpu_worker/backends/cuda/generated/kernel.h"

// What the templates of attention have in common, attention.cc and attention_tf32.cc: where heads
// lie, and how tiles of keys and values come into shared memory.

namespace plait::cuda {

// One choice of a template. Queries and keys are of a tile, warps of a block.
struct AttentionTile {
  int queries = 32;
  int keys = 32;
  int warps = 4;
  int stages = 1;  // 2: the next tile is on its way to registers while one is computed
};

// What a block of a choice takes.
struct AttentionCost {
  int64_t shared_bytes = 0;
  int64_t registers = 0;   // of a thread, with one stage
  double warp_cycles = 0;  // of a multiprocessor, for a tile of one warp that nothing waits for
};

// The kernels of a template for a problem, the best guess first by what the form's device would
// take; the first four are listed. None where the problem is no
// attention, or has more than 128 dims, of which a warp would have no registers for the sums.
// Choices whose blocks would have to ask for more than 48 KiB of shared memory are left out.
// `text` is the template: it finds the choice and all sizes and strides as constants, and has in it
// $PARAMETERS$, $SCALE$, $MASK$ (a score's mask, for a query `row` and a key `column` of the head),
// $ROWS$ (the functions LoadRows and StoreRows), $HEADS$ (where the block's head lies),
// $BEGIN_TILE$ (the loop over tiles of keys, the next of them in registers) and $LOAD_NEXT_TILE$.
std::vector<GeneratedKernel> AttentionKernels(
    const Problem& problem, const KernelForm& form, std::span<const AttentionTile> tiles,
    AttentionCost (*cost_of)(const AttentionProblem&, const AttentionTile&), const char* text);

}  // namespace plait::cuda
