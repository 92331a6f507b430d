#include "bench/simulated_gpu/ptxas_log.h"

#include <regex>
#include <sstream>

// Of each function ptxas writes, with other lines between:
//   ptxas info    : Function properties for plait_kernel
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 32 registers, used 1 barriers, 400 bytes smem

namespace plait {
namespace {

constexpr int kWarpThreads = 32;

}  // namespace

std::map<std::string, KernelResources> ReadPtxasLog(const std::string& log) {
  static const std::regex function(R"(Function properties for (\S+))");
  static const std::regex frame(
      R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex used(R"(Used (\d+) registers)");
  static const std::regex shared(R"((\d+) bytes smem)");
  std::map<std::string, KernelResources> kernels;
  KernelResources* kernel = nullptr;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, function)) kernel = &kernels[match[1]];
    if (kernel == nullptr) continue;
    if (std::regex_search(line, match, frame)) {
      kernel->stack_bytes = std::stoi(match[1]);
      kernel->spill_store_bytes = std::stoi(match[2]);
      kernel->spill_load_bytes = std::stoi(match[3]);
    }
    if (std::regex_search(line, match, used)) {
      kernel->registers = std::stoi(match[1]);
      if (std::regex_search(line, match, shared)) kernel->shared_bytes = std::stoi(match[1]);
    }
  }
  return kernels;
}

std::string WarningsOf(const std::string& log) {
  std::string warnings;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("warning") != std::string::npos && line.find("Remark:") == std::string::npos) {
      warnings += line + "\n";
    }
  }
  return warnings;
}

Multiprocessor MultiprocessorOf(const std::string& architecture) {
  if (architecture == "sm_80") return {.shared_bytes = 164 << 10, .threads = 2048, .blocks = 32};
  if (architecture == "sm_89") return {.shared_bytes = 100 << 10, .threads = 1536, .blocks = 24};
  if (architecture == "sm_90a") return {.shared_bytes = 228 << 10, .threads = 2048, .blocks = 32};
  if (architecture == "sm_100") return {.shared_bytes = 228 << 10, .threads = 2048, .blocks = 32};
  return {};
}

double OccupancyOf(const KernelResources& resources, int block_threads,
                   const Multiprocessor& multiprocessor) {
  if (multiprocessor.threads == 0) return 0;
  const int blocks =
      ResidentBlocks({block_threads, resources.registers, resources.shared_bytes}, multiprocessor);
  const int warps = (block_threads + kWarpThreads - 1) / kWarpThreads;
  return static_cast<double>(blocks * warps * kWarpThreads) / multiprocessor.threads;
}

}  // namespace plait
