#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel.h"

// Map of this folder: this header is the plan, its text form and its check. Read then
//   make_plan, memory_plan   a plan from a cover and a schedule; rebind_plan  for other shapes
//   place_parts              which values lie in others, so that nothing concatenates them
//   plan_check, step_clocks  why a plan may be run: what is proved of it, and from what
//   check_parts              the same of values that lie in others
//   step_work                what its steps compute and move
//   plan_print, plan_parse   the text form, both ways
//   embed_plan, body_constants, same_interface   the plan that a file carries, for which callers
namespace plait {

// A tensor's place in the arena.
struct Buffer {
  int64_t offset_bytes = 0;  // a multiple of kBufferAlignmentBytes
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
  // The value whose bytes this one shares: a view's input, or what this is a part of; or -1.
  int alias_of = -1;
  // Of a part: the channel of the whole at which it begins, between whose pixels the others lie; -1
  // for values that are none. Both lie in channels-last. A Concat runs for those of its inputs only
  // that are not where its result has them.
  int64_t first_channel = -1;
  friend bool operator==(const Value&, const Value&) = default;
};

// How a device runs a graph: kernels in launch order, their streams and dependencies, and where
// every tensor lies. Bound to a graph, and made on a device: on which others it may run is said in
// loading/choose_plan.h. It is used as a whole or not at all. The engine version says who made it
// and binds nothing. Steps of full width (that of the device) run alone.
struct Plan {
  // Raised whenever the text form changes. Texts of the version before are read as well, so that
  // files and programs need not be replaced on the same day; older and newer ones are refused.
  static constexpr int kVersion = 4;
  static constexpr int kVersionMin = kVersion - 1;

  std::string graph_fingerprint;
  std::string device_fingerprint;
  std::string engine_version;
  std::string precision = "strict";
  bool predicted = false;  // its kernels were chosen by predicted times; texts of version 3: false
  int threads = 1;         // the device's width that the plan was made for
  int streams = 1;
  std::vector<Step> steps;    // in launch order
  std::vector<Value> values;  // an alias behind the value that it shares bytes with
  int64_t arena_bytes = 0;    // one allocation that holds every buffer

  friend bool operator==(const Plan&, const Plan&) = default;
};

// The plan's text form, one line per step and value; PrintPlan(ParsePlan(t)) == t for every text
// that PrintPlan wrote. Equal plans have equal texts, so a text can be hashed and compared.
std::string PrintPlan(const Plan& plan);

// The inverse, for texts of kVersionMin to kVersion. The text may be hostile, so every number is
// checked and nothing is allocated by a number alone; what parses still has to pass CheckPlan.
// Errors: InvalidArgument naming the line; Unimplemented for another version.
absl::StatusOr<Plan> ParsePlan(absl::string_view text);

// The same without values and steps: for choosing among plans. What follows is not read.
absl::StatusOr<Plan> ParsePlanHeader(absl::string_view text);

// Checks a plan against its graph: every node runs exactly once, every input of a step was produced
// before it in the partial order (streams, waits, full-width steps), every graph output is
// produced, formats agree, buffers lie inside the arena, and two values whose buffers overlap are
// never alive at the same time: the last reader of one precedes the writer of the other in the
// partial order; or they are parts of one whole, of which every byte is written once. A plan that
// passes can be run without further checks. Does not look at the device: whether it has the kernels
// is the executor's to say. Pure and thread-safe. Errors: InvalidArgument saying which step or
// value is wrong.
absl::Status CheckPlan(const Plan& plan, const Graph& graph);

}  // namespace plait
