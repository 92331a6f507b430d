#pragma once

#include <optional>

#include "absl/strings/string_view.h"

namespace plait {

// What one multiprocessor of a GPU has for blocks, from the table "Technical Specifications per
// Compute Capability" of the CUDA C++ Programming Guide 13.0.
struct Multiprocessor {
  absl::string_view architecture = "sm_90a";  // that ptxas compiles for
  int registers = 65536;
  int shared_bytes = 0;
  int threads = 0;
  int blocks = 0;
};

// What one block of a kernel takes of it.
struct BlockResources {
  int threads = 0;
  int registers = 0;  // of a thread
  int shared_bytes = 0;
  friend bool operator==(const BlockResources&, const BlockResources&) = default;
};

// How many blocks a multiprocessor keeps at a time: registers are given by 256 a warp, shared
// memory by 128 bytes and 1 KiB more a block. 0: not one fits. Pure.
int ResidentBlocks(const BlockResources& block, const Multiprocessor& multiprocessor);

// What a block takes of a kernel that plait generates, "depthwise/v4/p1", by what
// generated_kernels.def says of the architecture: sm_80, sm_89 or sm_90a, which stands for any
// other. nullopt: it is not there. Pure, as is the next.
std::optional<BlockResources> ResourcesOf(absl::string_view kernel, absl::string_view architecture);

// Of the family's kernel of which a multiprocessor keeps the fewest threads.
// REQUIRES: generated_kernels.def has the family.
BlockResources WorstResourcesOf(absl::string_view family, const Multiprocessor& multiprocessor);

}  // namespace plait
