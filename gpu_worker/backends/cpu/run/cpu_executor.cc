#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/instruction_set_names.h"
#include "base/machine_cores.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "gpu_worker/backends/cpu/run/device.h"
#include "gpu_worker/backends/cpu/run/handover_time.h"
#include "gpu_worker/backends/cpu/run/private_caches.h"
#include "gpu_worker/backends/cpu/run/processor.h"
#include "gpu_worker/backends/cpu/run/shared_team.h"
#include "gpu_worker/backends/cpu/run/yardsticks.h"
#include "gpu_worker/executor/executor.h"

namespace plait {
namespace {

// Of cores that the processor says share a cache, and which then are near each other; of others
// there is nothing to say.
double ExpectedHandoverUs(const Processor& processor, int threads) {
  constexpr double kOnOneCacheUs = 0.05;
  return processor.l3_threads >= threads ? kOnOneCacheUs : 0;
}

class CpuExecutor : public Executor {
 public:
  CpuExecutor(DeviceDescription device, const Processor& processor, std::shared_ptr<Team> team,
              std::unique_ptr<Onednn> onednn, const ExecutorOptions& options)
      : Executor(ThreadDistance(ExpectedHandoverUs(processor, device.threads))),
        device_(std::move(device)),
        team_(std::move(team)),
        onednn_(std::move(onednn)),
        yardsticks_(team_.get()),
        private_caches_(team_.get(), processor.l2_bytes),
        shares_weights_(options.shares_weights),
        shares_formats_(options.shares_formats),
        shares_working_memory_(options.shares_working_memory) {}

  const DeviceDescription& device() const override { return device_; }
  Yardsticks ReadYardsticks() override { return yardsticks_.Read(); }
  double ReadMultiplyAddRate(int width) override { return yardsticks_.ReadMultiplyAdds(width); }
  double ReadHandoverUs() override { return HandoverUs(*team_); }

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource& weights) override {
    return CpuExecutable::Create(
        graph, plan, weights,
        {team_.get(), onednn_.get(), &private_caches_, shares_weights_ ? &shared_weights_ : nullptr,
         shares_working_memory_ ? &working_memory_ : nullptr, shares_formats_});
  }

  DeviceDescription device_;
  std::shared_ptr<Team> team_;
  std::unique_ptr<Onednn> onednn_;
  CpuYardsticks yardsticks_;
  PrivateCaches private_caches_;
  const bool shares_weights_;
  const bool shares_formats_;
  const bool shares_working_memory_;
  SharedWeights shared_weights_;
  WorkingMemory working_memory_;
};

// "avx2" on a processor that has no AVX2 is an error and not a weaker set: who asks means to know
// what runs.
absl::Status LimitInstructions(absl::string_view name) {
  const std::optional<InstructionSet> best = InstructionSetNamed(name);
  if (!best.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("cpu: instruction set \"", name, "\": must be ",
                                                   ExpectedInstructionSet(name)));
  }
  if (*best > DetectedInstructionSet()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cpu: this processor has no ", name, "; its best instruction set is ",
                     InstructionSetName(DetectedInstructionSet())));
  }
  PLAIT_RETURN_IF_ERROR(LimitOnednn(*best));
  LimitInstructionSet(*best);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CpuDeviceIds() { return std::vector<std::string>{"cpu"}; }

absl::StatusOr<std::unique_ptr<Executor>> OpenCpuExecutor(absl::string_view device_id,
                                                          const ExecutorOptions& options) {
  if (device_id != "cpu") {
    return absl::NotFoundError(absl::StrCat("device \"", device_id, "\": there is only \"cpu\""));
  }
  PLAIT_RETURN_IF_ERROR(OpenOnednn());
  if (options.threads < 0) return absl::InvalidArgumentError("cpu: threads must not be negative");
  if (!options.instruction_set.empty()) {
    PLAIT_RETURN_IF_ERROR(LimitInstructions(options.instruction_set));
  }
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Onednn> onednn, Onednn::Create());
  DeviceDescription device = DescribeCpu(options.threads, options.memory_bytes_max);
  const ThreadPlacement placement =
      options.pins_threads ? ThreadPlacement::kPinned : ThreadPlacement::kAnywhere;
  std::shared_ptr<Team> team;
  if (options.shares_threads) {
    PLAIT_ASSIGN_OR_RETURN(team, SharedTeam(MachineCores(), placement));
    device.threads = std::min(device.threads, team->threads());
  } else {
    team = std::make_shared<Team>(device.threads, placement);
  }
  return std::make_unique<CpuExecutor>(std::move(device), DescribeProcessor(), std::move(team),
                                       std::move(onednn), options);
}

}  // namespace plait
