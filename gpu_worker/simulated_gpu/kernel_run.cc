#include "gpu_worker/simulated_gpu/kernel_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/warp.h"

namespace plait::simulated_gpu {
namespace {

constexpr int64_t kThreadsMax = 1024;
constexpr int64_t kBlocksMax = int64_t{1} << 31;

int64_t ProductOfSizes(const std::array<unsigned, 3>& sizes) {
  return int64_t{sizes[0]} * sizes[1] * sizes[2];
}

template <typename T>
void Shuffle(Random& random, std::vector<T>* values) {
  for (size_t i = values->size(); i > 1; --i) {
    std::swap((*values)[i - 1], (*values)[random.Next() % i]);
  }
}

}  // namespace

absl::Status CheckShape(const Program& program, const LaunchShape& shape) {
  const int64_t threads = ProductOfSizes(shape.block);
  const int64_t threads_max = program.threads_max > 0 ? program.threads_max : kThreadsMax;
  if (threads < 1 || threads > std::min(threads_max, kThreadsMax)) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", program.kernel, ": ", threads,
                                                   " threads in a block, 1 to ", threads_max));
  }
  // The second and third sizes have limits of their own.
  const int64_t blocks = ProductOfSizes(shape.grid);
  if (blocks < 1 || blocks >= kBlocksMax || shape.grid[1] > 65535 || shape.grid[2] > 65535 ||
      shape.block[2] > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", program.kernel, ": no such grid: ", blocks, " blocks"));
  }
  return absl::OkStatus();
}

class KernelRun::Grid {
 public:
  Grid(const Program& program, DeviceMemory& memory, const LaunchShape& shape,
       const LaunchOptions& options, bool has_dependencies)
      : launch_{.program = program,
                .shape = shape,
                .options = options,
                .memory = memory,
                .module_memory = DeviceMemory(),
                .parameters = std::vector<std::byte>(program.parameter_bytes),
                .report = {},
                .accesses = std::vector<AccessReport>(program.instructions.size()),
                .has_dependencies = has_dependencies,
                .early = {}},
        random_(options.seed) {}

  ~Grid() { launch_.memory.EndLaunch(number_); }

  // REQUIRES: as many arguments as the program has parameters.
  absl::Status Begin(absl::Span<const void* const> arguments) {
    const Program& program = launch_.program;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const PlacedParameter& parameter = program.parameters[i];
      std::memcpy(launch_.parameters.data() + parameter.offset, arguments[i], parameter.bytes);
    }
    for (const PlacedVariable& variable : program.module) {
      launch_.module_memory.AllocateAt(variable.name, variable.address, variable.bytes);
      PLAIT_RETURN_IF_ERROR(launch_.module_memory.Write(variable.address, variable.initial));
    }
    number_ = launch_.memory.BeginLaunch(program.global_granule_bytes);
    launch_.module_memory.BeginLaunch(program.global_granule_bytes);
    for (const PlacedVariable& variable : program.shared) {
      block_.shared.AllocateAt(variable.name, variable.address, variable.bytes);
    }
    block_.shared.BeginLaunch(program.shared_granule_bytes);
    const auto threads = static_cast<int>(ProductOfSizes(launch_.shape.block));
    for (int first = 0; first < threads; first += kLanes) {
      warps_.push_back(std::make_unique<Warp>(launch_, block_, first / kLanes,
                                              std::min(kLanes, threads - first)));
    }
    blocks_.resize(ProductOfSizes(launch_.shape.grid));
    for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i] = static_cast<int32_t>(i);
    Shuffle(random_, &blocks_);
    return absl::OkStatus();
  }

  absl::StatusOr<Progress> RunBlock() {
    launch_.memory.ResumeLaunch(number_, launch_.program.global_granule_bytes);
    if (!in_block_) BeginBlock(blocks_[blocks_ended_]);
    PLAIT_ASSIGN_OR_RETURN(in_block_, GoOn());
    if (in_block_) return Progress::kWaits;
    for (const auto& warp : warps_) have_waited_ = have_waited_ && warp->has_waited();
    ++blocks_ended_;
    return blocks_ended_ == blocks_.size() ? Progress::kEnded : Progress::kBlockEnded;
  }

  void EndDependencies() { launch_.dependencies_ended = true; }
  Touches touches() const { return launch_.memory.TouchesOf(number_); }
  const Touches& early_touches() const { return launch_.early; }
  bool has_waited() const { return have_waited_; }

  LaunchReport TakeReport() {
    for (AccessReport& access : launch_.accesses) {
      if (access.requests > 0) launch_.report.accesses.push_back(std::move(access));
    }
    return std::move(launch_.report);
  }

 private:
  void BeginBlock(int32_t number) {
    const auto& grid = launch_.shape.grid;
    block_.number = number;
    block_.index = {number % grid[0], number / grid[0] % grid[1], number / (grid[0] * grid[1])};
    block_.interval = 0;
    block_.shared.ForgetContents();
    for (const auto& warp : warps_) warp->Begin();
  }

  // Runs the block to its end, or until warps of it wait for what the launch depends on: then it
  // returns true.
  absl::StatusOr<bool> GoOn() {
    while (true) {
      Shuffle(random_, &warps_);
      bool waits = false;
      for (const auto& warp : warps_) {
        if (warp->state() == Warp::State::kRunning ||
            warp->state() == Warp::State::kAtDependencies) {
          PLAIT_RETURN_IF_ERROR(warp->Run());
        }
        waits = waits || warp->state() == Warp::State::kAtDependencies;
      }
      if (waits) return true;
      PLAIT_ASSIGN_OR_RETURN(const bool ended, PassBarrier());
      if (ended) return false;
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

  LaunchState launch_;
  Random random_;
  BlockState block_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<int32_t> blocks_;  // in the order in which they run
  size_t blocks_ended_ = 0;
  bool in_block_ = false;
  bool have_waited_ = true;  // all threads of the blocks that have ended
  uint64_t number_ = 0;      // of the launch in `memory`
};

absl::StatusOr<KernelRun> KernelRun::Begin(const Program& program, DeviceMemory& memory,
                                           const LaunchShape& shape,
                                           absl::Span<const void* const> arguments,
                                           const LaunchOptions& options, bool has_dependencies) {
  PLAIT_RETURN_IF_ERROR(CheckShape(program, shape));
  if (arguments.size() != program.parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", program.kernel, ": ",
                                                   arguments.size(), " arguments for ",
                                                   program.parameters.size(), " parameters"));
  }
  KernelRun run;
  run.grid_ = std::make_unique<Grid>(program, memory, shape, options, has_dependencies);
  PLAIT_RETURN_IF_ERROR(run.grid_->Begin(arguments));
  return run;
}

KernelRun::KernelRun() = default;
KernelRun::KernelRun(KernelRun&& other) noexcept = default;
KernelRun::~KernelRun() = default;

absl::StatusOr<KernelRun::Progress> KernelRun::RunBlock() { return grid_->RunBlock(); }
void KernelRun::EndDependencies() { grid_->EndDependencies(); }
Touches KernelRun::touches() const { return grid_->touches(); }
const Touches& KernelRun::early_touches() const { return grid_->early_touches(); }

bool KernelRun::has_waited() const { return grid_->has_waited(); }
LaunchReport KernelRun::TakeReport() { return grid_->TakeReport(); }

}  // namespace plait::simulated_gpu
