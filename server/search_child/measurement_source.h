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
class MeasurementSource {
 public:
  virtual ~MeasurementSource() = default;

  // Live as long as the source. A device and a log answer alike: the search cannot tell which it
  // has, and so a replay decides what the search decided.
  virtual Profiler& profiler() = 0;
  virtual Verifier& verifier() = 0;
  virtual Budget& budget() = 0;

  // Spent on measuring so far; nothing in a replay.
  virtual absl::Duration profiling_time() const = 0;
  virtual absl::Duration verification_time() const = 0;
};

// What Start asks for: the log in it, or the daemon. What is passed must outlive the source.
// Errors: InvalidArgument when the log cannot be read.
absl::StatusOr<std::unique_ptr<MeasurementSource>> MakeMeasurementSource(
    const internal::Start& start, ChildConnection& connection, Clock& clock);

}  // namespace plait
