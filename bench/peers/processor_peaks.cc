// How fast this processor is at best, by one thread and by all: `processor_peaks [THREADS]` prints
//
//   {"instruction_set": "avx512",
//    "multiply_add_gflops": {"1": ..., "2": ...}       fp32, in registers
//    "bf16_tile_gflops", "int8_tile_gops": the same    null where there are no tiles (AMX)
//    "read_gbps": {"l1": {"1": ..., "2": ...}, "l2", "l3", "memory"},
//    "fork_join_us": {"p50": ..., "p99": ...}}         of a team of all threads that has no work
//
// Each is the best of some readings of a few milliseconds, with threads that begin at once and run
// where the system puts them. Every thread reads bytes of its own: half of a cache of its core,
// four times its second one for the third level, and for memory more than the third level holds.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/statistics.h"
#include "bench/peers/tile_peak.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/memory.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/executor/stopwatch.h"
#include "proto/wire/json.h"

namespace plait {
namespace {

using wire::Json;

constexpr int kReadings = 7;
constexpr int64_t kMultiplyAddSteps = 500'000;
constexpr int64_t kTileSteps = 50'000;
// As long a reading for every level: as much is read of each, again and again.
constexpr int64_t kReadBytes = int64_t{64} << 20;
// Where the size of the third level is not known.
constexpr int64_t kMemoryBytesMin = int64_t{256} << 20;

// Takes results, which the compiler would otherwise not compute.
std::atomic<float> sink;

// Reads all floats, whose number is a multiple of 128: eight sums beside each other, so that none
// waits for the addition before.
__attribute__((target_clones("avx512f", "avx2", "default"))) float ReadAll(const float* floats,
                                                                           int64_t count) {
  typedef float Vector __attribute__((vector_size(64)));
  constexpr int kSums = 8;
  const auto* const vectors = reinterpret_cast<const Vector*>(floats);
  Vector sums[kSums] = {};
  for (int64_t i = 0; i < count / 16; i += kSums) {
#pragma GCC unroll 8
    for (int k = 0; k < kSums; ++k) sums[k] += vectors[i + k];
  }
  Vector sum = {};
  for (int k = 0; k < kSums; ++k) sum += sums[k];
  return sum[0];
}

// The best rate of `work`, each call of which does `amount` in each of the threads, per nanosecond.
// The threads begin at once, and the slowest one counts.
double BestRate(int threads, double amount, const std::function<void(int thread)>& work) {
  std::barrier begin(threads);
  std::vector<double> elapsed_us(static_cast<size_t>(threads));
  double best = 0;
  for (int reading = 0; reading < kReadings; ++reading) {
    std::vector<std::jthread> team;
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        work(thread);  // brings the clock, the caches and the pages to where they will be
        begin.arrive_and_wait();
        const Stopwatch stopwatch;
        work(thread);
        elapsed_us[thread] = stopwatch.elapsed_us();
      });
    }
    team.clear();
    const double slowest_us = *std::max_element(elapsed_us.begin(), elapsed_us.end());
    best = std::max(best, threads * amount / slowest_us / 1000);
  }
  return best;
}

double ReadRate(int threads, int64_t bytes) {
  const int64_t floats = bytes / 512 * 128;
  std::vector<MemoryRegion> arrays;
  for (int thread = 0; thread < threads; ++thread) {
    absl::StatusOr<MemoryRegion> array = MemoryRegion::Written(floats * int64_t{sizeof(float)});
    if (!array.ok()) return 0;
    arrays.push_back(*std::move(array));
  }
  const int64_t passes = std::max<int64_t>(kReadBytes / bytes, 1);
  return BestRate(threads, static_cast<double>(passes * bytes), [&](int thread) {
    const auto* const array = reinterpret_cast<const float*>(arrays[thread].data());
    for (int64_t pass = 0; pass < passes; ++pass) sink = ReadAll(array, floats);
  });
}

// A rate by one thread and by all of them.
template <typename Rate>
Json ByThreads(int threads, const Rate& rate) {
  Json json;
  for (const int count : {1, threads}) json[absl::StrCat(count)] = rate(count);
  return json;
}

Json MultiplyAdds(int threads) {
  const LoopTable& loops = Loops();
  const double flops = 2.0 * static_cast<double>(kMultiplyAddSteps * loops.multiply_adds_per_step);
  return ByThreads(threads, [&](int count) {
    return BestRate(count, flops,
                    [&](int) { sink = loops.chain_multiply_adds(kMultiplyAddSteps); });
  });
}

Json Tiles(int threads, int64_t operations_per_step, void (*multiply)(int64_t steps)) {
  return ByThreads(threads, [&](int count) {
    return BestRate(count, static_cast<double>(kTileSteps * operations_per_step),
                    [&](int) { multiply(kTileSteps); });
  });
}

Json ForkJoin(int threads) {
  constexpr int kForks = 20'000;
  Team team(threads, ThreadPlacement::kPinned);
  const Team::Lead lead(team);
  std::vector<double> elapsed_us;
  for (int i = 0; i < kForks; ++i) {
    const Stopwatch stopwatch;
    RunGroups(threads, 1, [](int) {});
    elapsed_us.push_back(stopwatch.elapsed_us());
  }
  return {{"p50", Quantile(elapsed_us, 0.5)}, {"p99", Quantile(elapsed_us, 0.99)}};
}

Json Reads(int threads) {
  const int64_t memory_bytes =
      std::max<int64_t>(kMemoryBytesMin, 2 * int64_t{sysconf(_SC_LEVEL3_CACHE_SIZE)});
  const std::pair<const char*, int64_t> levels[] = {{"l1", sysconf(_SC_LEVEL1_DCACHE_SIZE) / 2},
                                                    {"l2", sysconf(_SC_LEVEL2_CACHE_SIZE) / 2},
                                                    {"l3", sysconf(_SC_LEVEL2_CACHE_SIZE) * 4},
                                                    {"memory", memory_bytes / threads}};
  Json json;
  for (const auto& [level, bytes] : levels) {
    if (bytes <= 0) continue;
    json[level] = ByThreads(threads, [&](int count) { return ReadRate(count, bytes); });
  }
  return json;
}

int Main(int argc, char** argv) {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  if (argc > 2 || (argc == 2 && (!absl::SimpleAtoi(argv[1], &threads) || threads < 1))) {
    std::cerr << "usage: processor_peaks [THREADS]\n";
    return 2;
  }
  Json json;
  json["instruction_set"] = std::string(InstructionSetName(DetectedInstructionSet()));
  json["multiply_add_gflops"] = MultiplyAdds(threads);
  const bool has_tiles = DetectedInstructionSet() == InstructionSet::kAmx;
  json["bf16_tile_gflops"] =
      has_tiles ? Tiles(threads, kBf16TileOperationsPerStep, MultiplyBf16Tiles) : Json();
  json["int8_tile_gops"] =
      has_tiles ? Tiles(threads, kByteTileOperationsPerStep, MultiplyByteTiles) : Json();
  json["read_gbps"] = Reads(threads);
  json["fork_join_us"] = ForkJoin(threads);
  std::cout << wire::JsonText(json);
  return 0;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Main(argc, argv); }
