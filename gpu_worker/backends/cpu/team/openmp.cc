#include "gpu_worker/backends/cpu/team/openmp.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "gpu_worker/backends/cpu/team/team.h"

// What libgomp's manual calls the ABI between compiler and library, as far as oneDNN uses it
// (nm -D libdnnl.so). Regions do not nest: oneDNN asks omp_in_parallel first.

namespace plait {
namespace {

// A parallel region while it runs.
struct Region {
  int threads = 1;
  std::atomic<int> arrived = 0;        // at the barrier that is next
  std::atomic<uint32_t> barriers = 0;  // that all have reached
};
thread_local Region* region = nullptr;
thread_local int thread_of_region = 0;
thread_local bool do_regions_wait = false;  // by other means than the barrier

void RunInRegion(Region& shared, int thread, void (*run)(void*), void* data) {
  region = &shared;
  thread_of_region = thread;
  run(data);
  region = nullptr;
  thread_of_region = 0;
}

}  // namespace

void OpenMpParallel(void (*run)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  const int width = TeamWidth();
  Region shared;
  shared.threads = threads == 0 ? width : std::min(static_cast<int>(threads), width);
  if (region != nullptr || shared.threads == 1) {
    Region* const outer = region;
    const int thread = thread_of_region;
    shared.threads = 1;
    RunInRegion(shared, 0, run, data);
    region = outer;
    thread_of_region = thread;
    return;
  }
  // Whoever has passed all barriers has seen every thread of the region begin.
  const bool do_all_begin = do_regions_wait;
  RunGroupsAnywhere(shared.threads, 1, GroupLength::kBrief, [&](int thread) {
    if (thread == 0 && do_all_begin) AskThoseThatRest();
    RunInRegion(shared, thread, run, data);
  });
}

void OpenMpBarrier() {
  if (region == nullptr || region->threads == 1) return;
  if (thread_of_region == 0) AskThoseThatRest();
  const uint32_t before = region->barriers.load();
  if (region->arrived.fetch_add(1) + 1 < region->threads) {
    AwaitChange(region->barriers, before);
    return;
  }
  region->arrived.store(0);
  region->barriers.store(before + 1);
  region->barriers.notify_all();
}

int OpenMpMaxThreads() { return TeamWidth(); }
int OpenMpThreads() { return region == nullptr ? 1 : region->threads; }
int OpenMpThread() { return thread_of_region; }
int OpenMpIsParallel() { return region != nullptr && region->threads > 1 ? 1 : 0; }

OpenMpWaitScope::OpenMpWaitScope() : before_(std::exchange(do_regions_wait, true)) {}
OpenMpWaitScope::~OpenMpWaitScope() { do_regions_wait = before_; }

}  // namespace plait
