#pragma once

#include "optimizer/cost/profile_cache.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/schedule/policy.h"

namespace plait {

// The device that a search optimizes for. What it refers to must outlive it.
struct SearchDevice {
  const DeviceDescription& description;
  const KernelCatalog& catalog;
  const ProfileCache& profiles;
  ScheduleDevice schedule;
};

// How a search compares graphs before anything is scheduled.
enum class CostModel {
  kSum,           // kernels one after the other (TASO)
  kCriticalPath,  // the better of that and kernels side by side under C_E (AutoGraph)
};

}  // namespace plait
