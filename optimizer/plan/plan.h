#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// A tensor's place in the arena.
struct Buffer {
  int64_t offset_bytes = 0;
  int64_t size_bytes = 0;
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// One launch of a plan.
struct Step {
  Kernel kernel;  // a reorder has no nodes
  int stream = 0;
  // Steps (indices, all smaller) on other streams that must have finished before this one starts.
  // Order within a stream is implied. Covers data and memory reuse.
  std::vector<int> waits;
  // Places of the kernel's inputs and outputs, as indices into Plan::values.
  std::vector<int> inputs;
  std::vector<int> outputs;
  friend bool operator==(const Step&, const Step&) = default;
};

// A tensor in one format, while a plan runs. A tensor that a reorder copies has several values.
struct Value {
  TensorId tensor = kNoTensor;
  Format format = Format::kPlain;
  Buffer buffer;  // size 0 for graph inputs and outputs: the caller owns those bytes
  // The value whose bytes this one shares (a view's input), or -1.
  int alias_of = -1;
  friend bool operator==(const Value&, const Value&) = default;
};

// How a device runs a graph: kernels in launch order, their streams and dependencies, and where
// every tensor lies. Bound to a graph, a device and an engine version: on a mismatch it is ignored
// with a warning, never half used. Steps of full width (that of the device) run alone.
struct Plan {
  static constexpr int kVersion = 2;

  std::string graph_fingerprint;
  std::string device_fingerprint;
  std::string engine_version;
  std::string precision = "strict";
  int threads = 1;  // the device's width that the plan was made for
  int streams = 1;
  std::vector<Step> steps;
  std::vector<Value> values;
  int64_t arena_bytes = 0;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// The plan's text form, one line per step and value; PrintPlan(ParsePlan(t)) == t.
std::string PrintPlan(const Plan& plan);

// Errors: InvalidArgument naming the line; the text may be hostile, so every number is checked.
absl::StatusOr<Plan> ParsePlan(absl::string_view text);

// Checks a plan against its graph: every node runs exactly once, every input of a step was produced
// before it in the partial order (streams, waits, full-width steps), every graph output is
// produced, formats agree, buffers lie inside the arena, and two values whose buffers overlap are
// never alive at the same time: the last reader of one precedes the writer of the other in the
// partial order. Errors: InvalidArgument saying which step or value is wrong.
absl::Status CheckPlan(const Plan& plan, const Graph& graph);

}  // namespace plait
