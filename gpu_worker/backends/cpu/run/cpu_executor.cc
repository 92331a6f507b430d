#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/run/cpu_executable.h"
#include "gpu_worker/backends/cpu/run/device.h"
#include "gpu_worker/backends/cpu/run/private_caches.h"
#include "gpu_worker/backends/cpu/run/processor.h"
#include "gpu_worker/backends/cpu/run/yardsticks.h"
#include "gpu_worker/executor/executor.h"

namespace plait {
namespace {

class CpuExecutor : public Executor {
 public:
  CpuExecutor(DeviceDescription device, std::unique_ptr<Onednn> onednn)
      : device_(std::move(device)),
        onednn_(std::move(onednn)),
        yardsticks_(device_.threads),
        private_caches_(device_.threads, DescribeProcessor().l2_bytes) {}

  const DeviceDescription& device() const override { return device_; }
  Yardsticks ReadYardsticks() override { return yardsticks_.Read(); }

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource& weights) override {
    return CpuExecutable::Create(graph, plan, weights, onednn_.get(), &private_caches_);
  }

  DeviceDescription device_;
  std::unique_ptr<Onednn> onednn_;
  CpuYardsticks yardsticks_;
  PrivateCaches private_caches_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> OpenCpuExecutor(absl::string_view device_id, int threads,
                                                          int64_t memory_bytes_max) {
  if (device_id != "cpu") {
    return absl::NotFoundError(absl::StrCat("device \"", device_id, "\": there is only \"cpu\""));
  }
  if (threads < 0) return absl::InvalidArgumentError("cpu: threads must not be negative");
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Onednn> onednn, Onednn::Create());
  return std::make_unique<CpuExecutor>(DescribeCpu(threads, memory_bytes_max), std::move(onednn));
}

}  // namespace plait
