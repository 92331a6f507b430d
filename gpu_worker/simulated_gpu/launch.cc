#include "gpu_worker/simulated_gpu/launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/warp.h"

namespace plait::simulated_gpu {
namespace {

constexpr int64_t kThreadsMax = 1024;
constexpr int64_t kBlocksMax = int64_t{1} << 31;

int64_t Product(const std::array<unsigned, 3>& sizes) {
  return int64_t{sizes[0]} * sizes[1] * sizes[2];
}

absl::Status CheckShape(const Program& program, const LaunchShape& shape) {
  const int64_t threads = Product(shape.block);
  const int64_t threads_max = program.threads_max > 0 ? program.threads_max : kThreadsMax;
  if (threads < 1 || threads > std::min(threads_max, kThreadsMax)) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", program.kernel, ": ", threads,
                                                   " threads in a block, 1 to ", threads_max));
  }
  // The second and third sizes have limits of their own.
  const int64_t blocks = Product(shape.grid);
  if (blocks < 1 || blocks >= kBlocksMax || shape.grid[1] > 65535 || shape.grid[2] > 65535 ||
      shape.block[2] > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", program.kernel, ": no such grid: ", blocks, " blocks"));
  }
  return absl::OkStatus();
}

template <typename T>
void Shuffle(Random& random, std::vector<T>* values) {
  for (size_t i = values->size(); i > 1; --i) {
    std::swap((*values)[i - 1], (*values)[random.Next() % i]);
  }
}

// The warps of one block after another.
class Grid {
 public:
  explicit Grid(LaunchState& launch) : launch_(launch), random_(launch.options.seed) {
    for (const PlacedVariable& variable : launch.program.shared) {
      block_.shared.AllocateAt(variable.name, variable.address, variable.bytes);
    }
    block_.shared.BeginLaunch(launch.program.shared_granule_bytes);
    const auto threads = static_cast<int>(Product(launch.shape.block));
    for (int first = 0; first < threads; first += kLanes) {
      warps_.push_back(std::make_unique<Warp>(launch_, block_, first / kLanes,
                                              std::min(kLanes, threads - first)));
    }
  }

  absl::Status Run() {
    std::vector<int32_t> blocks(Product(launch_.shape.grid));
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int32_t>(i);
    Shuffle(random_, &blocks);
    for (int32_t block : blocks) PLAIT_RETURN_IF_ERROR(RunBlock(block));
    return absl::OkStatus();
  }

 private:
  absl::Status RunBlock(int32_t number) {
    const auto& grid = launch_.shape.grid;
    block_.number = number;
    block_.index = {number % grid[0], number / grid[0] % grid[1], number / (grid[0] * grid[1])};
    block_.interval = 0;
    block_.shared.ForgetContents();
    for (const auto& warp : warps_) warp->Begin();
    while (true) {
      Shuffle(random_, &warps_);
      for (const auto& warp : warps_) PLAIT_RETURN_IF_ERROR(warp->Run());
      PLAIT_ASSIGN_OR_RETURN(const bool ended, PassBarrier());
      if (ended) return absl::OkStatus();
    }
  }

  // Every warp has ended, or stands at the same barrier, which it passes.
  absl::StatusOr<bool> PassBarrier() {
    const Warp& first = *warps_.front();
    for (const auto& warp : warps_) {
      if (warp->state() == first.state() &&
          (warp->state() == Warp::State::kEnded || warp->at() == first.at())) {
        continue;
      }
      const Warp& waiting = first.state() == Warp::State::kAtBarrier ? first : *warp;
      return waiting.Annotated(
          absl::AbortedError("divergent barrier: another warp of the block is at another one, or "
                             "has ended"),
          0);
    }
    if (first.state() == Warp::State::kEnded) return true;
    for (const auto& warp : warps_) warp->PassBarrier();
    ++block_.interval;
    return false;
  }

  LaunchState& launch_;
  Random random_;
  BlockState block_;
  std::vector<std::unique_ptr<Warp>> warps_;
};

}  // namespace

absl::StatusOr<LaunchReport> Launch(const Program& program, DeviceMemory& memory,
                                    const LaunchShape& shape,
                                    absl::Span<const void* const> arguments,
                                    const LaunchOptions& options) {
  PLAIT_RETURN_IF_ERROR(CheckShape(program, shape));
  if (arguments.size() != program.parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", program.kernel, ": ",
                                                   arguments.size(), " arguments for ",
                                                   program.parameters.size(), " parameters"));
  }
  LaunchState launch{.program = program,
                     .shape = shape,
                     .options = options,
                     .memory = memory,
                     .module_memory = DeviceMemory(),
                     .parameters = std::vector<std::byte>(program.parameter_bytes),
                     .report = {},
                     .accesses = std::vector<AccessReport>(program.instructions.size())};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const PlacedParameter& parameter = program.parameters[i];
    std::memcpy(launch.parameters.data() + parameter.offset, arguments[i], parameter.bytes);
  }
  for (const PlacedVariable& variable : program.module) {
    launch.module_memory.AllocateAt(variable.name, variable.address, variable.bytes);
    PLAIT_RETURN_IF_ERROR(launch.module_memory.Write(variable.address, variable.initial));
  }
  memory.BeginLaunch(program.global_granule_bytes);
  launch.module_memory.BeginLaunch(program.global_granule_bytes);
  PLAIT_RETURN_IF_ERROR(Grid(launch).Run());
  for (AccessReport& access : launch.accesses) {
    if (access.requests > 0) launch.report.accesses.push_back(std::move(access));
  }
  return std::move(launch.report);
}

}  // namespace plait::simulated_gpu
