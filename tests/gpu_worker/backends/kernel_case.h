#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// A small graph whose kernels a backend must run rightly. A file has cases one after the other:
//
//   case: ConvWithRelu
//   largest: 2
//   graph { .. }
struct KernelCase {
  std::string name;  // CamelCase: part of a test's name
  // Nodes of the largest kernel that the backend offers, so that a fused form is really there;
  // 0, where the file says nothing: any.
  int largest = 0;
  std::string graph;  // in the text form
};

// Reads tests/gpu_worker/backends/<backend>/cases/<family>.txt. Lines before the first case and
// empty ones say nothing.
// Errors: NotFound naming the file; InvalidArgument naming file and line.
absl::StatusOr<std::vector<KernelCase>> ReadKernelCases(absl::string_view backend,
                                                        absl::string_view family);

}  // namespace plait
