#pragma once

#include <cstdint>

#include "optimizer/ir/graph.h"

namespace plait {

// What a kernel computes and moves: every input, output and constant once, and no more than its
// nodes move one by one: views move nothing, and a Gather reads a few rows of its table.
struct KernelWork {
  int64_t flops = 0;
  int64_t weight_bytes = 0;
  int64_t value_bytes = 0;

  int64_t bytes() const { return weight_bytes + value_bytes; }
};

// Of a kernel by its nodes, inputs and outputs (KernelKey). Pure.
KernelWork WorkOfKernel(const Graph& graph);

}  // namespace plait
