#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "loading/choose_plan.h"

namespace plait {

// Which nodes of a model run as reference code, because the device has no kernel for their types or
// forms: many times slower than a kernel, and nothing that a plan could change. Not thread-safe.
class ReferenceNodes {
 public:
  // Counts those of a plan. Errors: those of CatalogFor.
  absl::Status Add(const LoadedPlan& loaded, const DeviceDescription& device);

  // "; 3 nodes run as slow reference code (Conv, Relu)": operators in the graph's order, 8 at most.
  // "" where there are none.
  std::string Text() const;

 private:
  int count_ = 0;
  std::vector<std::string> operators_;  // each once
};

}  // namespace plait
