#pragma once

#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "optimizer/cost/layer_error.h"
#include "optimizer/ir/fingerprint.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// What is known of a kernel at a layer; see KernelCatalog::NeedsAdmission.
enum class Admission { kUnknown, kAdmitted, kRefused };

// Which kernels may run which layers, as far as their errors were measured. A layer is a kernel's
// first node: its operator, attributes, types and constants by content. So what was measured in one
// graph holds in all graphs of a search, whatever names and numbers the layer has there, and for
// kernels that differ in width, formats and what is fused behind the layer.
//
// At first fp32 accuracy is asked for (IsAdmitted). Where a plan may lose some, each kernel is
// admitted at a price instead, in microseconds for what it loses there, and whoever chooses kernels
// adds that to their time: so what is lost is lost where it saves most.
//
// Thread rule: const functions from any thread, unless another thread changes something.
class Admissions {
 public:
  // Kernels at layers of which nothing is known count as refused from now on.
  void RefuseUnknown() { unknown_ = Admission::kRefused; }

  // Adds what was measured of the kernel at the layer of `graph` that it starts with. Of a layer
  // that stands at several places, and reads other values at each, the worst one counts.
  void Add(const Graph& graph, const Kernel& kernel, const LayerError& error);

  // REQUIRES, here and below: a kernel of `graph` that needs admission, so no reorder.
  Admission Of(const Graph& graph, const Kernel& kernel) const;

  // nullptr when nothing was measured. Valid until something is added.
  const LayerError* Find(const Graph& graph, const Kernel& kernel) const;

  // From now on kernels may lose accuracy: an error of 1 that reaches the outputs costs so many
  // microseconds. Infinite: none may lose any, as at first.
  void SetPrice(double us_per_error) { us_per_error_ = us_per_error; }
  bool AdmitsLosses() const { return us_per_error_ < std::numeric_limits<double>::infinity(); }

  // The layer that the kernel starts with.
  static Fingerprint LayerOf(const Graph& graph, const Kernel& kernel);

  // What an error of 1 in the layer is in the outputs. 1 where nothing is said.
  void SetSensitivity(const Fingerprint& layer, double sensitivity);

  // Kernels may lose accuracy at these layers only; nullptr: at all. Must outlive that.
  void Confine(const absl::flat_hash_set<Fingerprint>* layers) { confined_to_ = layers; }

  // What the kernel loses of the outputs' accuracy, beyond what a serial fp32 sum loses: nothing
  // where it has fp32 accuracy or was not measured.
  double LossOf(const Graph& graph, const Kernel& kernel) const;

  // The price of that in microseconds.
  double PriceUs(const Graph& graph, const Kernel& kernel) const;

 private:
  Admission unknown_ = Admission::kUnknown;
  absl::flat_hash_map<Fingerprint, LayerError> errors_;  // by layer, family and variant
  double us_per_error_ = std::numeric_limits<double>::infinity();
  absl::flat_hash_map<Fingerprint, double> sensitivities_;  // by layer
  const absl::flat_hash_set<Fingerprint>* confined_to_ = nullptr;
};

}  // namespace plait
