#pragma once

#include "optimizer/cost/admissions.h"
#include "optimizer/cost/profile_cache.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/schedule/policy.h"

namespace plait {

// The device that a search optimizes for: what it is, what it can run, how long that takes, and how
// much of it at a time. What it refers to must outlive it. Profiles are only read through it; who
// brings missing ones is BudgetedProfiles. Safe to read from any thread while neither profiles nor
// admissions change.
struct SearchDevice {
  const DeviceDescription& description;
  const KernelCatalog& catalog;
  const ProfileCache& profiles;
  ScheduleDevice schedule;
  // Kernels that it refuses are neither measured nor used. nullptr: nothing is refused.
  const Admissions* admissions = nullptr;
  // What each byte of the values between kernels costs in a plan beside what profiles say, in
  // microseconds: a kernel that is timed alone finds its values in nearer caches. 0 until it was
  // found (RehearseBest).
  double us_per_byte = 0;
};

// How a search compares graphs before anything is scheduled. Neither needs more than one profile
// per kernel: kernels that run side by side are never measured together.
// Chosen by the search policy, see policies.def.
enum class CostModel {
  kSum,           // kernels one after the other (TASO)
  kCriticalPath,  // the better of that and kernels side by side under C_E (AutoGraph)
};

}  // namespace plait
