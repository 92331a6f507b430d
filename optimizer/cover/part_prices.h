#pragma once

#include <map>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// What kernels take with the copies of images in channels-last that are made for their sake. A
// Concat copies what does not lie in its result as a part (see optimizer/plan/place_parts.h): what
// is written by kernels that write no parts, and what is read by kernels that read none. Each of
// these is priced with the copies of that tensor in all Concats, and a Concat with those of what
// nobody could write as a part, at what copies take in a plan. So a cover sees what a choice costs
// where it chooses. A value.
class PartPrices {
 public:
  // A kernel with what it reads and writes, and its measured time.
  struct Measured {
    const Kernel& kernel;
    absl::Span<const TensorId> inputs;
    absl::Span<const TensorId> outputs;
    double latency_us = 0;
    bool takes_all = false;  // of the device's threads
  };

  // Of these kernels of the graph. Graph and catalog must outlive the prices.
  PartPrices(const Graph& graph, const KernelCatalog& catalog, absl::Span<const Measured> kernels);

  // The time of one of the kernels with its copies.
  double LatencyUs(const Measured& measured) const;

 private:
  // By whether a kernel takes all threads; infinite for a Concat of which none does.
  struct Times {
    double us[2];
  };

  void AddCopiesOf(const Kernel& concat, const Times& times);
  double CopiesUs(const Measured& measured) const;

  const Graph& graph_;
  const KernelCatalog& catalog_;
  std::vector<bool> may_be_part_;     // by tensor; empty where nothing is concatenated
  std::map<TensorId, Times> copies_;  // of a tensor, in all Concats
  std::map<NodeId, double> copied_;   // the share of a Concat that no part can save
};

}  // namespace plait
