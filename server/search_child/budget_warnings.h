#pragma once

#include <string>

#include "plait/internal/search_child.pb.h"

// What a report says of a budget that was too short, and of one that would have been enough. Pure
// and thread-safe.
namespace plait {

// Nothing was measured beside the original, after so many seconds, and with so many to go.
std::string BudgetWarning(const internal::Start& start, double seconds_spent,
                          double seconds_needed);

// Nothing was measured in other runtimes.
std::string RuntimesWarning(const internal::Start& start);

}  // namespace plait
