#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/process/run_task.h"
#include "plait/worker/v1/worker.grpc.pb.h"

namespace plait {

// A worker_id that two workers share would let one take the other's task for its own.
struct SynchronizeOptions {
  std::string worker_id;  // no other worker's, and the same for this worker's whole life
  // Empty: kernels of every version are measured (see TaskRunner).
  FamilyVersion family_version;
  // The worker ends when the server has not answered for this long.
  absl::Duration server_silence_max = absl::Minutes(5);
};

// The life of a worker: calls Synchronize again and again and runs the tasks that it is given, on
// the calling thread; a second thread goes on calling meanwhile, so that a long task is not taken
// for a hang. Returns only when the server is gone or refuses the worker, and says why. The worker
// never listens: it may run where nobody can reach it, and the server needs no list of workers.
// After a lost answer the next call says again what the worker is doing.
// Errors: InvalidArgument, Unauthenticated and PermissionDenied at once, when the server refuses
// the worker; the last error of a call when it was silent for server_silence_max.
absl::Status SynchronizeForever(Executor& executor, std::shared_ptr<grpc::Channel> channel,
                                const SynchronizeOptions& options);

}  // namespace plait
