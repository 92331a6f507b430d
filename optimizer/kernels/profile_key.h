#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// What a measured time depends on; two kernels with equal keys take the same time. Every field is
// part of the key's text, and a test changes each one and expects another text.
// The text is what stores keep and compare. It is self-contained: a worker can rebuild the kernel
// from it and measure it without the model.
struct ProfileKey {
  std::string device_fingerprint;  // name, driver, library versions, instruction set, cores granted
  std::string family;              // the kernel family, such as "conv"
  std::string variant;             // the implementation and its parameters
  std::string version;             // of the family's code: KernelCatalog::Version
  int width = 1;                   // of the kernel, in threads
  bool cold_weights = true;        // weights rotated through memory, as in a real network
  // The kernel as a graph: operators, attributes, shapes, dtypes; constants are synthetic, names
  // are canonical (see KernelGraph). Equal texts are equal kernels. A reorder, which copies a
  // tensor from one format to another, has a graph without nodes, whose input is its output.
  std::string graph_text;
  // The format of each graph input, then of each output, such as "plain,channels_last".
  std::string formats;

  // Calls visit(name, field) for every field in order. Decomposing the key by number of fields
  // makes a field that is forgotten here a compile error.
  template <typename Key, typename Visitor>
  static void VisitFields(Key& key, Visitor visit) {
    auto& [device, family, variant, version, width, cold, graph, formats] = key;
    visit("device", device);
    visit("family", family);
    visit("variant", variant);
    visit("version", version);
    visit("width", width);
    visit("cold_weights", cold);
    visit("formats", formats);
    visit("graph", graph);
  }

  // One line of "name=value" separated by tabs, values escaped as in C; the database key.
  std::string ToString() const;

  // The inverse of ToString. The text may come from another process: nothing is taken for granted.
  // Only the key's own form is checked; whether graph and formats make sense is found by
  // MakeLoneKernel.
  // Errors: InvalidArgument naming the field that is missing or malformed.
  static absl::StatusOr<ProfileKey> Parse(absl::string_view text);

  friend bool operator==(const ProfileKey&, const ProfileKey&) = default;
};

}  // namespace plait
