#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/cost/profile.h"

namespace plait {

// How long a kernel is measured.
// Values below 3 samples are raised to it: fewer have no spread.
struct ProfileOptions {
  int samples_max = 100;
  // No sample is started after this time, but for the first three; a kernel that takes longer than
  // this for one run gets one sample.
  absl::Duration time_max = absl::Milliseconds(200);
};

// A kernel outside of any model: all that its time depends on beside the device.
struct LoneKernel {
  Graph graph;               // of exactly the kernel's nodes; none: a reorder of its only input
  Kernel kernel;             // over all nodes of `graph`
  bool cold_weights = true;  // see ProfileKernel
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

// A kernel's time, or why there is none.
struct KernelProfile {
  Profile profile;    // samples == 0 when the kernel could not run
  std::string error;  // then: why
};

// Measures a kernel on the executor's device, on seeded inputs that are never zero. With
// cold_weights the weights are dropped from the caches before every run, as they are in a network
// whose other layers have run in between, and inputs and outputs from those of each core.
// Copies of a kernel that take turns, with 60 to 560 MB of weights in all, were 1 to 7 % slower,
// and so were copies that were dropped from the caches and run once each.
// Never fails: a kernel that the device cannot load or run has no samples.
// The first run is not counted. Beside the times, the profile tells what the kernel computes and
// moves at least, from the graph alone.
KernelProfile ProfileKernel(Executor& executor, const LoneKernel& lone,
                            const ProfileOptions& options);

}  // namespace plait
