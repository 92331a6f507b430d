#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/workers/runtimes.h"
#include "server/workers/worker_supervisor.h"

namespace plait {

struct RuntimeWorkersOptions {
  // A path, or a name that is searched for in PATH. Empty: no runtimes.
  std::string interpreter;
  // Folders in which the interpreter shall look for the package of the worker, joined by ':'.
  std::string package_path;
  // As WorkerSupervisorOptions has them. `memory_bytes_max` is for a model, in a process of its
  // own, and for the worker itself.
  std::string server_address;
  int threads = 1;
  int64_t memory_bytes_max = 0;
  absl::Duration start_max = absl::Seconds(60);
  std::function<void()> restarted;
};

// Finds the runtimes that an interpreter of Python has, by asking the package of their worker, and
// keeps a worker alive for each one that was asked for. Nothing of it runs before: a job that
// measures in no runtime is not disturbed by one that starts. Thread-safe.
class RuntimeWorkers : public Runtimes {
 public:
  // Asks the interpreter, on a thread of its own. `pool` and `clock` must outlive the object.
  RuntimeWorkers(WorkerPool& pool, Clock& clock, RuntimeWorkersOptions options);
  // As Stop.
  ~RuntimeWorkers() override;

  Found Await(absl::Duration time_max) override;
  void StartWorker(const std::string& id) override;

  // Kills the workers, for good; blocks until they are gone.
  void Stop();

 private:
  // The thread.
  void Probe();
  // What the interpreter prints. Errors: Unavailable when it cannot be started, ends with an error
  // or takes too long.
  absl::StatusOr<std::string> AskInterpreter() const;
  WorkerSupervisorOptions SupervisorOptions(const std::string& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WorkerPool& pool_;
  Clock& clock_;
  const RuntimeWorkersOptions options_;
  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Found> found_ ABSL_GUARDED_BY(mutex_);
  std::string interpreter_ ABSL_GUARDED_BY(mutex_);  // its own path, as it says
  std::map<std::string, std::unique_ptr<WorkerSupervisor>> supervisors_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last, so that it starts when all else is ready
};

// What a probe printed: lines of JSON, {"interpreter": PATH}, {"device": {..}} or {"name": N,
// "missing": WHY}. Pure. Lines that are none of these are left out.
struct ProbeAnswer {
  std::string interpreter;
  Runtimes::Found found;
};
ProbeAnswer ReadProbe(absl::string_view text);

}  // namespace plait
