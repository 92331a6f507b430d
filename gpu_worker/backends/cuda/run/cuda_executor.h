#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/executor/executor.h"

// The executor of the cuda backend. The map of this folder:
//   cuda_executor        a GPU, or a simulated one (here)
//   device               what it is: its description and fingerprint
//   device_description   the same for cuDNN, which has words of its own
//   graph_costs          what graphs cost on it, measured when it is opened
//   cuda_executable      a plan on it: loaded, run, timed
//   step_problem         what a step of a plan is to the device, and why it may run
//   kernel_folder        compiled kernels, kept for later processes
//   split_steps          steps that nothing computes as one, in parts
//   implementations      which candidate computes a problem; time_candidates finds the fastest of
//                        those that candidate_trial finds right
//   plan_memory          where values and workspaces lie, and the order that this rests on
//   plan_graphs          the CUDA graphs of a plan
//   host_layout          bytes of the host in the formats of the device
//   check_indices        what a gather says of its indices
//   predicted_times      what stands in for times on a simulated device
//   cuda_status          errors from below as absl::Status
namespace plait::cuda {

// The number of "cuda:1"; nullopt for what is no GPU's id.
std::optional<int> DeviceIndexOf(absl::string_view device_id);

// The executor of a runtime's device, which is named "cuda:<index>": what OpenExecutor gives, on a
// runtime that a test has made. The executor owns the runtime. `has_libraries`: whether cuDNN and
// cuBLASLt, as their Get() gives them, are for this device; those of a simulated one are stand-ins.
// Errors: Unavailable naming everything that is missing of driver, device and NVRTC;
// InvalidArgument for threads or instructions, which a GPU has not; those of KernelFolder::Open.
absl::StatusOr<std::unique_ptr<Executor>> OpenOn(std::unique_ptr<Runtime> runtime, int index,
                                                 const ExecutorOptions& options,
                                                 bool has_libraries);

}  // namespace plait::cuda
