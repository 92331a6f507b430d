#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {

// A tensor in somebody else's memory, row-major, at any address.
struct HostTensor {
  TensorType type;
  const std::byte* data = nullptr;
};

// Nodes of a model that plait does not understand, ready to run somewhere else. Not thread-safe.
class HostSegment {
 public:
  virtual ~HostSegment() = default;

  // The element type of output `index`; kUndefined for what is no tensor of numbers.
  virtual DataType OutputType(size_t index) const = 0;

  // Runs once. Fills in all of `outputs`, whose bytes are this object's and good until its next
  // run. What it says of them is not believed: whoever calls it checks types and shapes.
  // Errors: the runner's.
  virtual absl::Status Run(absl::Span<const HostTensor> inputs, absl::Span<HostTensor> outputs) = 0;
};

// What runs the nodes of a model that plait does not understand: another runtime, which the program
// brings. Thread-safe.
class HostRunner {
 public:
  virtual ~HostRunner() = default;

  // Loads a serialized ModelProto without external data, which need not outlive the call, to run on
  // at most `threads` threads. Errors: the runner's, which say what it lacks.
  virtual absl::StatusOr<std::unique_ptr<HostSegment>> Load(absl::string_view model, int threads,
                                                            size_t output_count) = 0;
};

}  // namespace plait
