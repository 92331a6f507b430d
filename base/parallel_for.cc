#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace plait {

void ParallelFor(int threads, int count, const std::function<void(int)>& work) {
  std::atomic<int> next{0};
  const auto run = [&] {
    for (int index = next.fetch_add(1); index < count; index = next.fetch_add(1)) work(index);
  };
  std::vector<std::thread> helpers;
  for (int helper = 1; helper < std::min(threads, count); ++helper) helpers.emplace_back(run);
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace plait
