#pragma once

#include <map>
#include <string>

#include "optimizer/cost/occupancy.h"

namespace plait {

// What a kernel takes of a multiprocessor, as ptxas says it.
struct KernelResources {
  int registers = 0;  // of a thread
  int shared_bytes = 0;
  int stack_bytes = 0;  // of a thread, in local memory: arrays that are indexed, and spills
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

// Entry function, by its mangled name, to what it takes: of a log with --ptxas-options=-v. Lines
// that it does not know are none of its matter. Pure, as all here.
std::map<std::string, KernelResources> ReadPtxasLog(const std::string& log);

// The lines of a log that warn, of the compiler or of ptxas; empty: none does.
std::string WarningsOf(const std::string& log);

// Of "sm_80", "sm_89", "sm_90a" or "sm_100"; nothing of any other.
Multiprocessor MultiprocessorOf(const std::string& architecture);

// The share of its threads that blocks of the kernel keep resident. 0: not one block fits.
double OccupancyOf(const KernelResources& resources, int block_threads,
                   const Multiprocessor& multiprocessor);

}  // namespace plait
