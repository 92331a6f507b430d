#pragma once

#include <functional>
#include <vector>

#include "optimizer/plan/plan.h"

namespace plait {

// A way to make a right plan wrong.
struct PlanFault {
  const char* name;
  std::function<void(Plan&)> plant;
  const char* message;  // a part of what CheckPlan says of it
};

// Expects that CheckPlan accepts `plan` and refuses it with each of the faults.
void ExpectFaultsFound(const Graph& graph, const Plan& plan, const std::vector<PlanFault>& faults);

}  // namespace plait
