#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "gpu_worker/backends/cpu/run/device.h"
#include "gpu_worker/executor/check_load.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/one_kernel_plan.h"

namespace plait {
namespace {

class CpuExecutor : public Executor {
 public:
  CpuExecutor(DeviceDescription device, std::unique_ptr<Onednn> onednn)
      : device_(std::move(device)), onednn_(std::move(onednn)) {}

  const DeviceDescription& device() const override { return device_; }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, const Plan& plan,
                                                   const WeightSource& weights) override {
    PLAIT_RETURN_IF_ERROR(CheckPlan(plan, graph));
    PLAIT_RETURN_IF_ERROR(CheckBinding(plan, graph, device_));
    if (plan.arena_bytes > device_.memory_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("plan: needs ", plan.arena_bytes,
                                                       " bytes of activations, the machine has ",
                                                       device_.memory_bytes));
    }
    return CpuExecutable::Create(graph, plan, weights, onednn_.get());
  }

  absl::StatusOr<std::unique_ptr<Executable>> LoadKernel(const Graph& graph, const Kernel& kernel,
                                                         const WeightSource& weights) override {
    if (kernel.width > device_.threads) {
      return absl::InvalidArgumentError(absl::StrCat("kernel: needs ", kernel.width,
                                                     " threads, the device has ", device_.threads));
    }
    PLAIT_ASSIGN_OR_RETURN(const Plan plan, OneKernelPlan(graph, kernel));
    return CpuExecutable::Create(graph, plan, weights, onednn_.get());
  }

 private:
  DeviceDescription device_;
  std::unique_ptr<Onednn> onednn_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> OpenCpuExecutor(absl::string_view device_id,
                                                          int threads) {
  if (device_id != "cpu") {
    return absl::NotFoundError(absl::StrCat("device \"", device_id, "\": there is only \"cpu\""));
  }
  if (threads < 0) return absl::InvalidArgumentError("cpu: threads must not be negative");
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Onednn> onednn, Onednn::Create());
  return std::make_unique<CpuExecutor>(DescribeCpu(threads), std::move(onednn));
}

}  // namespace plait
