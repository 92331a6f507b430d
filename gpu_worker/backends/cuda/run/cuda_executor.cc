#include "gpu_worker/backends/cuda/run/cuda_executor.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/dynamic_library.h"
#include "gpu_worker/backends/cuda/driver/kernel_libraries.h"
#include "gpu_worker/backends/cuda/driver/nvml.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "gpu_worker/backends/cuda/run/device.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "gpu_worker/backends/cuda/run/graph_costs.h"
#include "gpu_worker/backends/cuda/run/kernel_folder.h"

namespace plait {
namespace cuda {
namespace {

// 8 MiB: large copies go in pieces of it.
constexpr size_t kStagingBytes = size_t{8} << 20;
// What is written to leave nothing else in the second cache: it, some times over.
constexpr int64_t kEvictedBytesMin = int64_t{192} << 20;

class CudaExecutor : public Executor {
 public:
  // `kernel_cache` may be null.
  CudaExecutor(std::unique_ptr<Runtime> runtime, DeviceFacts facts, DeviceDescription device,
               bool has_libraries, std::unique_ptr<KernelCache> kernel_cache)
      : runtime_(std::move(runtime)),
        facts_(std::move(facts)),
        device_(std::move(device)),
        has_libraries_(has_libraries),
        kernel_cache_(std::move(kernel_cache)),
        kernel_libraries_(runtime_.get()),
        clock_(runtime_->TakesPtx() ? nullptr : NvmlClock(facts_.pci_bus_id)) {}

  // What a device needs before anything is loaded on it.
  absl::Status Prepare() {
    PLAIT_ASSIGN_OR_RETURN(const Stream stream, ToStatusOr(runtime_->CreateStream(0)));
    stream_ = OwnedStream(runtime_.get(), stream);
    PLAIT_ASSIGN_OR_RETURN(staging_, ToStatusOr(Staging::Make(runtime_.get(), kStagingBytes)));
    Result<CudaDevice> described = Error{ErrorCode::kUnavailable, "no cuDNN"};
    if (has_libraries_) described = DescribeDevice(DeviceIndexOf(device_.id).value_or(0));
    cuda_device_ = PresentDevice(runtime_.get(), facts_, described);
    cuda_device_.kernel_cache = kernel_cache_.get();
    cuda_device_.kernel_libraries = &kernel_libraries_;
    implementations_ = std::make_unique<Implementations>(
        cuda_device_, has_libraries_, is_simulated() ? ChoiceBy::kFirst : ChoiceBy::kTrial, stream,
        staging_.get(), &clock_);
    if (is_simulated()) return absl::OkStatus();
    PLAIT_ASSIGN_OR_RETURN(
        graph_costs_, ToStatusOr(FindGraphCosts(kernel_cache_.get(), device_.fingerprint, [&] {
          return MeasureGraphCosts(runtime_.get(), facts_, stream,
                                   [this](Stream evicted) { return Evict(evicted); });
        })));
    device_.streams_max = graph_costs_.streams;
    device_.cross_stream_us = graph_costs_.cross_stream_us;
    if (graph_costs_.copied_bytes_per_us > 0) {
      device_.bandwidth_bytes_per_us = graph_costs_.copied_bytes_per_us;
    }
    return absl::OkStatus();
  }

  const DeviceDescription& device() const override { return device_; }
  absl::Status CheckHealth() override { return ToStatus(runtime_->CheckHealth()); }

 private:
  bool is_simulated() const { return runtime_->TakesPtx(); }

  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const plait::Graph& graph,
                                                          const Plan& plan,
                                                          const WeightSource& weights) override {
    // A device that has failed says so here. And libraries make their handles for the context that
    // is current in the calling thread, which this makes it.
    PLAIT_RETURN_IF_ERROR(ToStatus(runtime_->CheckHealth()));
    DeviceParts parts{.runtime = runtime_.get(),
                      .stream = stream_.get(),
                      .staging = staging_.get(),
                      .implementations = implementations_.get(),
                      .clock = &clock_,
                      .is_simulated = is_simulated(),
                      .multiprocessors = facts_.multiprocessors,
                      .graph_start_us = graph_costs_.start_us};
    if (!is_simulated()) parts.evict = [this](Stream stream) { return Evict(stream); };
    return CudaExecutable::Create(graph, plan, weights, parts);
  }

  // Parts of what no candidate computes whole are found when the kernel is loaded.
  void AnticipateChecked(absl::Span<const std::pair<const plait::Graph*, Plan>> kernels,
                         const std::stop_token& stop) override {
    // A simulated device times nothing.
    if (is_simulated() || !runtime_->CheckHealth().ok()) return;
    std::vector<StepProblem> steps;
    for (const auto& [graph, plan] : kernels) {
      absl::StatusOr<StepProblem> step = StepProblemOf(*graph, plan, plan.steps[0]);
      if (step.ok()) steps.push_back(*std::move(step));
    }
    implementations_->Anticipate(steps, stop);
  }

  Status Evict(Stream stream) {
    const int64_t bytes = std::max(kEvictedBytesMin, 3 * facts_.l2_bytes);
    if (evicting_.get() == nullptr) {
      const Result<void*> memory = runtime_->Allocate(static_cast<size_t>(bytes));
      if (!memory.ok()) return memory.error();
      evicting_ = OwnedMemory(runtime_.get(), memory.value());
    }
    return runtime_->Fill(evicting_.get(), 0, static_cast<size_t>(bytes), stream);
  }

  // In this order: the last goes first.
  const std::unique_ptr<Runtime> runtime_;
  const DeviceFacts facts_;
  DeviceDescription device_;  // the same once it is prepared
  const bool has_libraries_;
  const std::unique_ptr<KernelCache> kernel_cache_;
  KernelLibraries kernel_libraries_;
  ClockWatch clock_;
  CudaDevice cuda_device_;
  OwnedMemory evicting_;
  OwnedStream stream_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<Implementations> implementations_;
  GraphCosts graph_costs_;
};

// Whether the process's cuDNN is the simulated driver's own, which says so as that does. The real
// one takes a driver for a real one.
bool HasStandIns() {
  const Result<DynamicLibrary> library = DynamicLibrary::Open({"libcudnn.so.9"});
  return library.ok() && library.value().Symbol<int()>("plait_takes_ptx").ok();
}

absl::Status CheckOptions(const ExecutorOptions& options) {
  if (options.threads != 0) {
    return absl::InvalidArgumentError("cuda: a GPU is not divided; threads must be 0");
  }
  if (!options.instruction_set.empty()) {
    return absl::InvalidArgumentError("cuda: the instruction set is the GPU's own");
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<int> DeviceIndexOf(absl::string_view device_id) {
  int index = -1;
  if (!absl::ConsumePrefix(&device_id, "cuda:") || !absl::SimpleAtoi(device_id, &index) ||
      index < 0) {
    return std::nullopt;
  }
  return index;
}

absl::StatusOr<std::unique_ptr<Executor>> OpenOn(std::unique_ptr<Runtime> runtime, int index,
                                                 const ExecutorOptions& options,
                                                 bool has_libraries) {
  PLAIT_RETURN_IF_ERROR(CheckOptions(options));
  const std::string name = absl::StrCat("cuda:", index);
  const Result<std::string> nvrtc = NvrtcVersion();
  Result<DeviceFacts> facts = runtime->Describe();
  if (!facts.ok() || !nvrtc.ok()) {
    std::string missing;
    if (!facts.ok()) missing = facts.error().message;
    if (!nvrtc.ok()) {
      absl::StrAppend(&missing, missing.empty() ? "" : "; ", "NVRTC: ", nvrtc.error().message);
    }
    return absl::UnavailableError(absl::StrCat("device \"", name, "\": ", missing));
  }
  const bool is_simulated = runtime->TakesPtx();
  LibraryVersions versions;
  if (has_libraries) versions = FindLibraryVersions();
  versions.nvrtc = nvrtc.value();
  DeviceDescription device =
      DescribeGpu(index, facts.value(), versions, is_simulated, options.memory_bytes_max);
  std::unique_ptr<KernelCache> kernel_cache;
  if (!options.kernel_cache.empty()) {
    PLAIT_ASSIGN_OR_RETURN(kernel_cache, KernelFolder::Open(options.kernel_cache));
  }
  auto executor =
      std::make_unique<CudaExecutor>(std::move(runtime), std::move(facts).value(),
                                     std::move(device), has_libraries, std::move(kernel_cache));
  PLAIT_RETURN_IF_ERROR(Annotate(executor->Prepare(), absl::StrCat("device \"", name, "\"")));
  return executor;
}

}  // namespace cuda

absl::StatusOr<std::vector<std::string>> CudaDeviceIds() {
  PLAIT_ASSIGN_OR_RETURN(const int count, cuda::ToStatusOr(cuda::DeviceCount()));
  std::vector<std::string> ids;
  for (int index = 0; index < count; ++index) ids.push_back(absl::StrCat("cuda:", index));
  return ids;
}

absl::StatusOr<std::unique_ptr<Executor>> OpenCudaExecutor(absl::string_view device_id,
                                                           const ExecutorOptions& options) {
  const std::optional<int> index = cuda::DeviceIndexOf(device_id);
  if (!index.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("device \"", device_id, "\": GPUs are named \"cuda:0\", \"cuda:1\" ..."));
  }
  std::unique_ptr<cuda::Runtime> runtime = cuda::MakeDriverRuntime(*index);
  const bool has_libraries = !runtime->TakesPtx() || cuda::HasStandIns();
  return cuda::OpenOn(std::move(runtime), *index, options, has_libraries);
}

}  // namespace plait
