#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// What one multiprocessor of a GPU has for blocks, from the table "Technical Specifications per
// Compute Capability" of the CUDA C++ Programming Guide 13.0.
struct Multiprocessor {
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
};

// How many blocks a multiprocessor keeps at a time: registers are given by 256 a warp, shared
// memory by 128 bytes and 1 KiB more a block. 0: not one fits. Pure.
int ResidentBlocks(const BlockResources& block, const Multiprocessor& multiprocessor);

// What a block takes of a usual kernel of a family, of those that plait generates:
// generated_kernels.def. REQUIRES: that has the family.
BlockResources ResourcesOf(absl::string_view family);

}  // namespace plait
