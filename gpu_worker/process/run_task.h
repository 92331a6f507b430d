#pragma once

#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "gpu_worker/process/task_inputs.h"
#include "gpu_worker/process/task_weights.h"
#include "optimizer/cost/layer_error.h"
#include "plait/worker/v1/worker.pb.h"

namespace plait {

// The version of a kernel family's code in this build of the worker; empty for a family that it
// does not have. See KernelRequest.version.
using FamilyVersion = std::function<std::string(absl::string_view family)>;

// Runs the tasks of a worker on its device. Reads what a task says in its fields and never a key,
// which is the server's. Keeps the last weights, because the tasks of a job follow each other.
// Used by one thread, so that the device's own threads stay with it.
// Never keeps anything of a task but its weights and inputs: the same task gives the same work at
// any time.
class TaskRunner {
 public:
  // `executor` must outlive the runner. Without `family_version` kernels of every version are
  // measured by the code that is here.
  TaskRunner(Executor& executor, BlobFetcher fetch, FamilyVersion family_version = nullptr)
      : executor_(executor),
        fetch_(std::move(fetch)),
        family_version_(std::move(family_version)),
        inputs_(fetch_) {}

  // Never fails: what goes wrong is in the result.
  // Blocks until the task is done. A kernel or candidate that fails has its error in its own place
  // and leaves the others alone. Between two kernels, or two runs of a candidate, it looks whether
  // a stop was requested, and the result is a Cancelled error then.
  worker::v1::TaskResult Run(const worker::v1::Task& task, std::stop_token stop = {});

 private:
  // The answers carry the requests' keys, which are not looked into.
  // Errors: FailedPrecondition when the times are wanted for another device than this one;
  // Cancelled.
  absl::StatusOr<worker::v1::ProfileResult> Profile(const worker::v1::ProfileTask& task,
                                                    const std::stop_token& stop);
  // Times of other code under this version's name would poison the server's store.
  // Errors: FailedPrecondition naming both versions.
  absl::Status CheckVersion(const worker::v1::KernelRequest& request) const;

  // Errors: InvalidArgument for a baseline that cannot be read; those of FindWeights, TaskInputs
  // and MeasurePlans.
  absl::StatusOr<worker::v1::MeasureResult> Measure(const worker::v1::Task& task,
                                                    const std::stop_token& stop);
  // The errors of each candidate's steps, or why there are none; no candidate is the baseline.
  // Errors: Cancelled.
  absl::StatusOr<worker::v1::MeasureResult> MeasureStepErrors(const worker::v1::MeasureTask& work,
                                                              const WeightSource& weights,
                                                              const std::stop_token& stop);
  // Errors: those of ParseGraph, ParsePlan, TaskInputs and MeasureErrors.
  absl::StatusOr<std::vector<LayerError>> StepErrorsOf(const worker::v1::Candidate& candidate,
                                                       const worker::v1::MeasureTask& work,
                                                       const WeightSource& weights,
                                                       const std::stop_token& stop);
  // The times of each candidate's steps, or why there are none; no candidate is the baseline.
  // Errors: Cancelled.
  absl::StatusOr<worker::v1::MeasureResult> MeasureStepTimes(const worker::v1::MeasureTask& work,
                                                             const WeightSource& weights,
                                                             const std::stop_token& stop);
  // Kept weights, or those in blobs that are fetched and checked; none where the task names none.
  // Errors: those of the fetcher and of TaskWeights::Create.
  absl::StatusOr<std::shared_ptr<const TaskWeights>> FindWeights(const worker::v1::Task& task);

  Executor& executor_;
  const BlobFetcher fetch_;
  const FamilyVersion family_version_;
  TaskInputs inputs_;
  // Last used first, by the hashes of model and table.
  std::list<std::pair<std::string, std::shared_ptr<const TaskWeights>>> weights_;
};

}  // namespace plait
