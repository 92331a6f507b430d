#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/ir/graph.h"
#include "proto/wire/json.h"

namespace plait {

// A kernel that a model may run on a GPU: all that a recording of one needs to know.
struct ListedKernel {
  std::string family;
  std::string graph;     // as in a ProfileKey
  std::string formats;   // likewise; row-major, unless the kernel exists in other formats only
  wire::Json problem;    // ProblemJson
  int count = 0;         // how often the model has it; 0: only rewrites of it have
  bool planned = false;  // a plan by predicted times runs it
};

// Every kernel that the cuda backend offers for a graph in normal form, and for what one rewrite
// makes of it, each once: first those that plans run, then the model's others, then those of
// rewrites; within each in the order of nodes and offers. Views and what the device does not run
// have no problem, and are no lines.
// Errors: those of planning and of rules.
absl::StatusOr<std::vector<ListedKernel>> ListKernels(const Graph& graph,
                                                      const DescribedDevice& device);

}  // namespace plait
