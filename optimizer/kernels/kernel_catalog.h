#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/kernels/device.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// What of a catalog is asked for.
struct CatalogOptions {
  bool digits = true;  // kernels that write numbers in digits of bytes
  bool bf16 = true;    // kernels that multiply numbers in bf16
  bool tf32 = true;    // kernels that may round what they multiply to TF32
  // Kernels between which values lie in 16 bits (Format::kF16, Format::kBf16).
  bool fp16_values = true;
  bool bf16_values = true;
};

// What a backend can run as one kernel. Pure description: no device is needed to ask. One
// implementation per backend (its folder offers/). Thread-safe. What a catalog offers, the backend
// is expected to load; a kernel that its library refuses all the same has a profile without
// samples.
class KernelCatalog {
 public:
  virtual ~KernelCatalog() = default;

  // Kernels whose first node (lowest id) is `node`, each as a template: family, variant, nodes,
  // width and formats filled in; all variants worth measuring. Kernels of just this node come
  // first, and there is always at least one ("reference" when the backend has nothing faster). With
  // `fuse` false only the one-node kernels: what the baseline may use.
  // The order is part of the contract: of kernels that take the same time the first one is chosen.
  // It depends on what of the graph is asked for on the way and, of ids, on which of them is
  // smaller; what counts them asks for node_count(). So the answer holds wherever all of that is
  // the same (GraphReads).
  virtual std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const = 0;

  // The kernel that copies a tensor from one format to another; it has no nodes, and a plan inserts
  // it where neighbours disagree. Its profile is keyed by the type.
  virtual Kernel Reorder(const TensorType& type, Format from, Format to) const = 0;

  // Whether the kernel computes in other numbers than its operators' type on the way, so that its
  // error depends on weights and inputs. Such a kernel runs a layer only when its error there was
  // measured and is no larger than that of fp32 (IsAdmitted in optimizer/cost/layer_error.h). Its
  // first node is a layer of which that can be done (HasMeasurableLayer).
  virtual bool NeedsAdmission(const Kernel& /*kernel*/) const { return false; }

  // The variant that was offered, of a kernel whose variant a device has completed with what it
  // chose (CandidateMeasurement::step_variants).
  virtual std::string OfferedVariant(const Kernel& kernel) const { return kernel.variant; }

  // The variant that is offered in place of one that was refused at its layer: it takes longer and
  // loses less. nullopt: there is none.
  virtual std::optional<std::string> MoreExact(const Kernel& /*kernel*/) const {
    return std::nullopt;
  }

  // The variant that is offered beside one where a plan may lose accuracy: it is faster and loses
  // more. nullopt: there is none. It needs admission, even where the other one does not, and is
  // offered only at layers whose errors can be measured.
  virtual std::optional<std::string> LessExact(const Kernel& /*kernel*/) const {
    return std::nullopt;
  }

  // Whether other kernels can run beside this one, on a device of so many threads. Of a group's
  // offers a cover keeps the fastest of those and the fastest of the others.
  virtual bool LeavesRoom(const Kernel& kernel, int threads) const {
    return kernel.width < threads;
  }

  // Whether there are kernels that multiply numbers in this precision, "tf32", "fp16" or "bf16".
  virtual bool HasPrecision(absl::string_view /*precision*/) const { return false; }

  // Whether the kernel reads, or writes, images in channels-last whose pixels lie further apart
  // than they have channels: parts of others (Value::first_channel in optimizer/plan/plan.h).
  virtual bool ReadsParts(const Kernel& /*kernel*/) const { return false; }
  virtual bool WritesParts(const Kernel& /*kernel*/) const { return false; }

  // Whether plait's own reference code computes the kernel's node on the host, because the device
  // has no kernel for it.
  virtual bool IsFallback(const Kernel& /*kernel*/) const { return false; }

  // How much longer a copy of images takes in a plan, where what it reads was written long ago,
  // than alone. On a processor it was measured over the Concats of densenet121, of which most read
  // what has left the caches.
  virtual double CopyInPlanRatio() const { return 5; }

  // The share of the device's best rates, of computing or of moving bytes, that the kernel is
  // expected to reach: for a plan that has to be made without measuring. In (0, 1].
  virtual double ExpectedShare(const Kernel& /*kernel*/) const { return 0.5; }

  // Which kernel of the backend's own making stands for one that is offered: its family and, behind
  // a slash, its variant, as in optimizer/cost/generated_kernels.def. Of those among which a device
  // would choose, the first. Empty: a library's, or none that is known.
  virtual std::string GeneratedName(const Graph& /*graph*/, const Kernel& /*kernel*/) const {
    return "";
  }

  // The version of a family's code: what profiles of its kernels are kept under, so that another
  // text is another time. Lives as long as the catalog; empty for a family that the backend has
  // not.
  virtual absl::string_view Version(absl::string_view family) const = 0;
};

}  // namespace plait
