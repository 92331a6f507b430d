#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/channel.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/process/run_task.h"
#include "plait/worker/v1/worker.grpc.pb.h"

namespace plait {

// How plait-worker ends when its device does not work any more; whoever started it starts another.
inline constexpr int kExitDeviceFailed = 10;  // the device does nothing for this process any more
inline constexpr int kExitTaskHangs = 11;     // a task must end and cannot be stopped
inline constexpr int kExitDeviceLost = 12;    // the driver has the device no more

// Prints `why` and ends the process at once, with kExitTaskHangs.
[[noreturn]] void EndProcess(absl::string_view why);

// A worker_id that two workers share would let one take the other's task for its own.
struct SynchronizeOptions {
  std::string worker_id;  // no other worker's, and the same for this worker's whole life
  // Where a server of this machine keeps its blobs (BlobPath), which are read there: models of
  // gigabytes need not be sent. Empty: all of them come over the wire.
  std::string blobs_folder;
  // Empty: kernels of every version are measured (see TaskRunner).
  FamilyVersion family_version;
  // The worker ends when the server has not answered for this long.
  absl::Duration server_silence_max = absl::Minutes(5);
  // Between two calls while a task runs; as the server announces.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // Ends the process, because the task that runs must end and cannot: a kernel that hangs cannot be
  // stopped from outside. Says why. Called on another thread than the task's.
  std::function<void(absl::string_view why)> give_up = EndProcess;
};

// The life of a worker: calls Synchronize again and again and runs the tasks that it is given, on
// the calling thread; a second thread goes on calling meanwhile, so that a long task is not taken
// for a hang. Returns only when the server is gone or refuses the worker, and says why. The worker
// never listens: it may run where nobody can reach it, and the server needs no list of workers.
// After a lost answer the next call says again what the worker is doing.
//
// A task that the server does not want any more, or that is past its deadline, is stopped between
// two runs of a kernel. Where that does not come about within a few calls, the worker gives up its
// life: whoever started it starts it again. Of a deadline the server is told before.
// After a task that failed, or a part of it, the device is asked whether it still works.
// Errors: InvalidArgument, Unauthenticated and PermissionDenied at once, when the server refuses
// the worker; the last error of a call when it was silent for server_silence_max; DataLoss when the
// device has failed, and NotFound when it is not there any more, which the server has been told as
// the task's error.
absl::Status SynchronizeForever(Executor& executor, std::shared_ptr<grpc::Channel> channel,
                                const SynchronizeOptions& options);

}  // namespace plait
