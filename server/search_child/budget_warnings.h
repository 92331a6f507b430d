#pragma once

#include <cstdint>
#include <string>

// What a report says of a budget that was too short, of one that would have been enough, and of
// where its times come from. Pure and thread-safe.
namespace plait {

// Nothing was measured beside the original within the budget, after so many seconds, and with so
// many to go.
std::string BudgetWarning(double budget_seconds, double seconds_spent, double seconds_needed);

// Comparing a candidate takes longer than one task may: more budget would not help.
std::string TaskWarning();

// Nothing was measured in so many other runtimes.
std::string RuntimesWarning(double budget_seconds, int runtimes);

// Of a device of which nothing is measured: how many times of kernels were recorded on one, of all
// that the search asked for.
std::string RecordedWarning(int64_t recorded, int64_t predicted);

}  // namespace plait
