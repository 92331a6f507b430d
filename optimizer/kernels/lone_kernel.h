#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/kernels/kernel.h"
#include "optimizer/kernels/profile_key.h"

namespace plait {

// A kernel outside of any model: all that its time depends on beside the device.
struct LoneKernel {
  Graph graph;               // of exactly the kernel's nodes; none: a reorder of its only input
  Kernel kernel;             // over all nodes of `graph`
  bool cold_weights = true;  // see ProfileKey
};

// A kernel as another process describes it: family, variant and width are those of `chosen`, whose
// nodes and formats are filled in; `formats` names the format of each input of the graph, then of
// each output. Whether the device has such a kernel is found when it is loaded.
// Errors: InvalidArgument for a graph that cannot be read (naming its line) and for an unknown
// format.
absl::StatusOr<LoneKernel> MakeLoneKernel(absl::string_view graph_text, Kernel chosen,
                                          absl::Span<const absl::string_view> formats,
                                          bool cold_weights);

// The kernel that a key stands for, whatever the device and the version in it.
// Errors: those of MakeLoneKernel.
absl::StatusOr<LoneKernel> LoneKernelOf(const ProfileKey& key);

}  // namespace plait
