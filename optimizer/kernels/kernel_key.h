#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "optimizer/ir/fingerprint.h"
#include "optimizer/kernels/kernel.h"
#include "optimizer/kernels/profile_key.h"

namespace plait {

// What KernelGraph(graph, nodes) is, as a number: operators, attributes, types, wiring, settings by
// value and other constants by type. Equal for equal node sets of different models and
// different places, provided that the nodes stand in the same order. Names take no part.
// Different structures have different fingerprints but for the chance of a collision.
// REQUIRES: nodes ascending.
Fingerprint StructureFingerprint(const Graph& graph, absl::Span<const NodeId> nodes);

// Stands for KernelProfileKey(graph, kernel, ...) in one process, for one device and one catalog;
// far cheaper.
// `structure` is StructureFingerprint(graph, kernel.nodes).
// Neither device nor version take part: where they may differ, compare keys.
Fingerprint KernelFingerprint(const Fingerprint& structure, const Kernel& kernel);

// What a kernel's time depends on beside the kernel.
// Both must outlive the call they are passed to.
struct ProfileOrigin {
  absl::string_view device_fingerprint;
  absl::string_view version;  // of the kernel's family: KernelCatalog::Version
};

// The key under which the kernel's time is known on a device.
ProfileKey KernelProfileKey(const Graph& graph, const Kernel& kernel, const ProfileOrigin& origin);

// The same for a reorder of a tensor of this type, which has no nodes.
Fingerprint ReorderFingerprint(const TensorType& type, const Kernel& reorder);
ProfileKey ReorderProfileKey(const TensorType& type, const Kernel& reorder,
                             const ProfileOrigin& origin);

}  // namespace plait
