#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "optimizer/kernels/device.h"
#include "optimizer/plan/plan.h"

// A type of a few characters can declare a tensor of terabytes, and memory that is only reserved
// costs nothing until it is written: so that nothing fails on the way, what a graph takes is summed
// up before any of it is reserved. Sums beyond an int64 are the largest int64. Thread-safe.
namespace plait {

// The bytes of all inputs and all outputs of a graph: once for whoever runs it, and once for the
// executable that has a copy of them.
int64_t PortBytes(const Graph& graph);

// The bytes that a loaded plan takes at least: its arena, the constants, the inputs and outputs.
// Packed weights may take more, and so may a library's own memory.
int64_t LoadedBytes(const Graph& graph, const Plan& plan);

// What LoadedBytes is at least for any plan that runs the nodes of the graph one by one: the
// constants, the inputs and outputs, and all results that one node reads, or that it makes. Of a
// graph with opaque nodes, which is never loaded as a whole, what the largest node alone takes.
int64_t LeastLoadedBytes(const Graph& graph);

// Checks that the device has `bytes` of memory for `what`, whatever else lies there.
// Errors: ResourceExhausted naming both numbers.
absl::Status CheckMemory(absl::string_view what, int64_t bytes, const DeviceDescription& device);

}  // namespace plait
