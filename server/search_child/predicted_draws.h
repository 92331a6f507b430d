#pragma once

#include <functional>
#include <vector>

#include "optimizer/search/verifier.h"
#include "plait/internal/search_child.pb.h"

namespace plait {

// What plans would take on a job's device that is only described, or simulated, if its constants
// were others (DrawnDevice): one time for each of 40 draws, the same ones for every plan, so that
// 97.5 % of them are all but one. Null for a device that is there. Equal jobs draw alike.
std::function<std::vector<double>(const PlanCandidate&)> PredictedDraws(
    const internal::Start& start);

}  // namespace plait
