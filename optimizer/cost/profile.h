#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace plait {

// What a measured time depends on; two kernels with equal keys take the same time. Every field is
// part of the key's text, and a test changes each one and expects another text.
struct ProfileKey {
  std::string device_fingerprint;  // name, driver, library versions, instruction set, cores granted
  std::string family;              // the kernel family, such as "conv"
  std::string variant;             // the implementation and its parameters
  int implementation_version = 0;  // raised by hand when a family's code changes its speed
  int threads = 1;                 // width
  bool cold_weights = true;        // weights rotated through memory, as in a real network
  // The kernel as a graph: operators, attributes, shapes, dtypes; constants are synthetic, names
  // are canonical (see KernelGraph). Equal texts are equal kernels. A reorder, which copies a
  // tensor from one layout to another, has a graph without nodes, whose input is its output.
  std::string graph_text;
  // The layout of each graph input, then of each output, such as "plain,channels_last".
  std::string layouts;

  // Calls visit(name, field) for every field in order. Decomposing the key by number of fields
  // makes a field that is forgotten here a compile error.
  template <typename Key, typename Visitor>
  static void VisitFields(Key& key, Visitor visit) {
    auto& [device, family, variant, version, threads, cold, graph, layouts] = key;
    visit("device", device);
    visit("family", family);
    visit("variant", variant);
    visit("version", version);
    visit("threads", threads);
    visit("cold_weights", cold);
    visit("layouts", layouts);
    visit("graph", graph);
  }

  // One line of "name=value" separated by tabs, values escaped as in C; the database key.
  std::string ToString() const;

  friend bool operator==(const ProfileKey&, const ProfileKey&) = default;
};

// What was measured.
struct Profile {
  double latency_us_median = 0;
  double latency_us_p10 = 0;
  double latency_us_mad = 0;  // median absolute deviation
  int samples = 0;
  int64_t bytes = 0;  // off-chip bytes at least moved (inputs + outputs + weights)
  int64_t flops = 0;
  double compute_share = 1;  // of the device's cores or SMs while it runs

  friend bool operator==(const Profile&, const Profile&) = default;
};

// One request to measure: everything a worker needs beside the key is inside the key.
struct ProfileRequest {
  ProfileKey key;
};

// Measures kernels. Batched, so that a slow device is used well. Implementations say whether they
// are thread-safe; the search calls from one thread.
class Profiler {
 public:
  virtual ~Profiler() = default;

  // One profile per request, in order. A kernel that cannot run has samples == 0 (never a zero
  // latency that could be taken for a measurement). Errors: Unavailable when the device is gone;
  // Cancelled; DeadlineExceeded.
  virtual absl::StatusOr<std::vector<Profile>> Measure(
      absl::Span<const ProfileRequest> requests) = 0;
};

}  // namespace plait
