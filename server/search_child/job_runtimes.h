#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/ir/graph.h"
#include "optimizer/search/budget.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/connection.h"
#include "server/search_child/runtime_source.h"

namespace plait {

// Where measurements come from, and where they go. References must outlive it.
struct RuntimeContext {
  ChildConnection& connection;
  Clock& clock;
  absl::Duration ends_at;          // of the time for runtimes, monotonic
  const MeasurementLog* replayed;  // null: runtimes are asked
  Budget& budget;                  // of a replay: says whether there was time
  MeasurementLog& log;             // gets every answer
};

// The runtimes of a job, and the blobs that they read: models, and inputs for them. Those of a
// replay are only named, because nobody measures them. Not thread-safe.
class JobRuntimes {
 public:
  // `graph` is the original's, whose inputs the models have. References must outlive the object.
  JobRuntimes(const internal::Start& start, const Graph& graph, const RuntimeContext& context)
      : start_(start), graph_(graph), context_(context) {}

  // Adds the bytes of a model, which are these parts one behind the other. False, with nothing
  // added, where the file of blobs would pass the limit of this process.
  // Errors: STORAGE_UNAVAILABLE.
  absl::StatusOr<bool> AddModel(absl::Span<const absl::string_view> parts, v1::Digest& digest);

  // Makes inputs, and tells the daemon of them and of the models so far, when it is called first.
  // Null where nothing can be measured, which a warning says; and without one where there is no
  // runtime, or a log has none. Errors: STORAGE_UNAVAILABLE, those of Tell and MakeInputs.
  absl::StatusOr<RuntimeSource*> Source(std::vector<std::string>& warnings);

  // Tells the daemon of models that were added since. Errors: Unavailable when it is gone.
  absl::Status Tell();

  // Whether there are so many seconds left for measuring. REQUIRES: Source has made one.
  bool HasSeconds(double seconds);

  MeasurementLog& log() { return context_.log; }

 private:
  absl::StatusOr<std::unique_ptr<RuntimeSource>> MakeSource(std::vector<std::string>& warnings);
  absl::StatusOr<bool> AddInputs(RuntimeTaskInputs& inputs);

  const internal::Start& start_;
  const Graph& graph_;
  const RuntimeContext context_;
  int64_t blobs_bytes_ = 0;
  internal::BlobsWritten untold_;
  std::optional<std::unique_ptr<RuntimeSource>> source_;  // null: nothing can be measured
};

}  // namespace plait
