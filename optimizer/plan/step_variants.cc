#include "optimizer/plan/step_variants.h"

namespace plait {

Plan WithStepVariants(Plan plan, absl::Span<const std::string> variants) {
  if (variants.size() != plan.steps.size()) return plan;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i].empty()) plan.steps[i].kernel.variant = variants[i];
  }
  return plan;
}

}  // namespace plait
