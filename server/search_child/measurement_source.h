#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/verifier.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/connection.h"

namespace plait {

// Where a search child's decisions come from: a device, asked through the daemon, or the log of an
// earlier search. Not thread-safe.
//
// "Never slower" rests on a device: a replay repeats the decisions that were made on one, and
// measures nothing itself.
class MeasurementSource {
 public:
  virtual ~MeasurementSource() = default;

  // Live as long as the source. A device and a log answer alike: the search cannot tell which it
  // has, and so a replay decides what the search decided.
  // The budget is a time for a device; for a log, it is the step at which its job's budget ran out.
  virtual Profiler& profiler() = 0;
  virtual Verifier& verifier() = 0;
  virtual Budget& budget() = 0;
  // What a log says; a device has none of its own.
  virtual LoadEffect load_effect() const = 0;

  // Why the device could not measure kernels: the first reasons.
  virtual std::vector<std::string> kernel_failures() const { return {}; }

  // That is replayed; null where a device is asked.
  virtual const MeasurementLog* log() const = 0;

  // Spent on measuring so far; nothing in a replay.
  // Waiting for a worker is part of it.
  virtual absl::Duration profiling_time() const = 0;
  virtual absl::Duration verification_time() const = 0;
};

// The largest relative error that counts as equal: what the job says, or what its precision does.
double ToleranceOf(const v1::OptimizeOptions& options);

// What a search of a job is measured by.
struct MeasurementRequest {
  const internal::Start& start;
  absl::Duration end;            // of the search's budget, on the monotonic clock
  absl::string_view replay_log;  // what is read where the job is replayed
  // The job's inputs are compared too: they have the shapes of one search.
  bool has_input_sets = true;
};

// What Start asks for: a log, or the daemon. What is passed must outlive the source. Errors:
// InvalidArgument when the log cannot be read. A log is a client's file: its lines are read with
// checks, and a question that it does not answer is an error of the search.
absl::StatusOr<std::unique_ptr<MeasurementSource>> MakeMeasurementSource(
    const MeasurementRequest& request, ChildConnection& connection, Clock& clock);

}  // namespace plait
