#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "optimizer/cost/measurement_log.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/connection.h"

namespace plait {

// The error of all models of a runtime whose worker has not answered: nothing is known of it.
constexpr char kRuntimeSilent[] = "its worker gave no answer";
// The same where it was not asked, because the time was over.
constexpr char kNoTimeForRuntime[] = "there was no time left to measure in it";

// How much of a runtime's time a measurement may take; see MeasureModelsTask.
struct RuntimeBatch {
  int loads = 1;
  int rounds = 5;
  int rounds_min = 3;
  double seconds_max = 1;
};

// The runtimes of a job: asked through the daemon, or what a log says that they answered. A search
// cannot tell which it has. Not thread-safe.
class RuntimeSource {
 public:
  virtual ~RuntimeSource() = default;

  // The user's, in the order in which they are asked: of each in turn, the same each time.
  virtual const std::vector<std::string>& runtimes() const = 0;

  // Whether kSessionRuntime can be asked, too, which is plait's own.
  virtual bool has_session() const = 0;

  // Seconds that measuring in all runtimes may take from now on. Of a log: more than anybody wants,
  // because what was left out says so itself.
  virtual double SecondsLeft() = 0;

  // Measures models, named by the digests of bytes that the daemon has, the original first. What
  // goes wrong is said in the measurement.
  // Errors: Unavailable when the daemon is gone; InvalidArgument when a log has another answer.
  virtual absl::StatusOr<RuntimeMeasurement> Measure(const std::string& runtime,
                                                     const std::vector<v1::Digest>& models,
                                                     const RuntimeBatch& batch) = 0;

  // What stands in the place of an answer where nobody was asked.
  virtual absl::StatusOr<RuntimeMeasurement> Skip(const std::string& runtime,
                                                  const std::string& reason) = 0;
};

// How many runtimes a job measures in: kSessionRuntime only where the model has nodes that plait
// lacks.
int RuntimesToMeasure(const internal::Start& start, bool has_host_nodes);

// What a task of a runtime says besides models and time; the same for all of a job.
struct RuntimeTaskInputs {
  std::vector<v1::InputSet> input_sets;
  std::vector<worker::v1::ModelInput> inputs;
  int threads = 0;
  double tolerance = 0;  // that a verdict is made with
};

// Asks the daemon. `ends_at` is when the time is over, on the monotonic clock. What is passed must
// outlive the source.
std::unique_ptr<RuntimeSource> MakeRemoteRuntimes(const internal::Start& start,
                                                  ChildConnection& connection, Clock& clock,
                                                  absl::Duration ends_at, RuntimeTaskInputs inputs);

// Reads the log, which must outlive the source.
std::unique_ptr<RuntimeSource> MakeLoggedRuntimes(const MeasurementLog& log);

}  // namespace plait
