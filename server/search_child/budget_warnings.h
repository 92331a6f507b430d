#pragma once

#include <string>

// What a report says of a budget that was too short, and of one that would have been enough. Pure
// and thread-safe.
namespace plait {

// Nothing was measured beside the original within the budget, after so many seconds, and with so
// many to go.
std::string BudgetWarning(double budget_seconds, double seconds_spent, double seconds_needed);

// Nothing was measured in so many other runtimes.
std::string RuntimesWarning(double budget_seconds, int runtimes);

}  // namespace plait
