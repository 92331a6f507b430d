#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/onnx/model.h"
#include "plait/worker/v1/worker.pb.h"

namespace plait {

// Fetches the bytes of a blob.
using BlobFetcher = std::function<absl::StatusOr<std::string>(const v1::Digest& digest)>;

// Runs the tasks of a worker on its device. Keeps the last models, because the tasks of a job
// follow each other. Used by one thread, so that the device's own threads stay with it.
class TaskRunner {
 public:
  // `executor` must outlive the runner.
  TaskRunner(Executor& executor, BlobFetcher fetch)
      : executor_(executor), fetch_(std::move(fetch)) {}

  // Never fails: what goes wrong is in the result.
  worker::v1::TaskResult Run(const worker::v1::Task& task);

 private:
  worker::v1::ProfileResult Profile(const worker::v1::ProfileTask& task);
  absl::StatusOr<worker::v1::MeasureResult> Measure(const worker::v1::Task& task);
  absl::StatusOr<Model> FindModel(const v1::Digest& digest);

  Executor& executor_;
  const BlobFetcher fetch_;
  std::list<std::pair<std::string, Model>> models_;  // last used first, by hash
};

}  // namespace plait
