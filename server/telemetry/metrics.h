#pragma once

#include <memory>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plait {

// What one finished search reports of itself; see Report.
struct SearchCounts {
  // Wall-clock time of the three parts, which do not overlap.
  double search_seconds = 0;
  double profiling_seconds = 0;
  double verification_seconds = 0;
  // Graphs considered.
  int64_t candidates = 0;
  // Kernel profiles asked for: those measured for this search, and those that were known.
  int64_t profiles_measured = 0;
  int64_t profiles_cached = 0;
};

// Everything that plaitd tells Prometheus: one method for each thing that happens, so that names
// and labels stand here only. Names begin with plait_, units are base units, labels come from small
// fixed sets and never from clients: no job, model or tenant. docs/metrics.md lists the families.
//
// Counters begin at 0 with each start; those that alerts watch exist from the start, because an
// alert cannot see the first increase of a series that is new. Nothing here can fail or wait for
// anything but a short lock. Thread-safe.
class Metrics {
 public:
  // The versions become labels of plait_build_info.
  Metrics(absl::string_view version, absl::string_view engine_version);

  // What the HTTP endpoint prints. Lives as long as this object.
  prometheus::Registry& registry() { return *registry_; }

  // What happened. `method` is a name in methods.def, `code` that of a gRPC status ("NOT_FOUND").
  void RpcEnded(absl::string_view method, absl::string_view code, absl::Duration elapsed);
  // A job was acknowledged; a repeated request counts once.
  void JobSubmitted() { jobs_submitted_.Add({}).Increment(); }
  // A run of a job ended in the final state ("SUCCEEDED") after running for this long.
  void JobEnded(absl::string_view state, absl::Duration elapsed);
  void SearchEnded(const SearchCounts& counts);
  void ResultCacheHit() { result_cache_hits_.Add({}).Increment(); }
  // See WorkerPoolOptions::task_ended for the kinds and outcomes.
  void TaskEnded(absl::string_view kind, absl::string_view outcome);
  void WorkerRestarted() { worker_restarts_.Add({}).Increment(); }
  // `reason` is "crash", "limit" or "protocol".
  void ChildCrashed(absl::string_view reason);
  void BlobBytesReceived(int64_t bytes);
  // The time from a submission until it was on disk.
  void StorageCommitted(absl::Duration elapsed);

  // How things stand: gauges, set about once a second or less often.
  void SetJobs(int64_t queued, int64_t running);
  void SetWorkers(int64_t idle, int64_t busy);
  void SetStored(int64_t profiles, int64_t blobs, int64_t blob_bytes);
  void SetUptime(absl::Duration uptime) { uptime_.Add({}).Set(absl::ToDoubleSeconds(uptime)); }

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  Counters& NewCounters(const char* name, const char* help);
  Gauges& NewGauges(const char* name, const char* help);
  Histograms& NewHistograms(const char* name, const char* help);

  const std::shared_ptr<prometheus::Registry> registry_;
  Counters& rpcs_;
  Histograms& rpc_seconds_;
  Counters& jobs_submitted_;
  Counters& jobs_ended_;
  Histograms& job_seconds_;
  Gauges& jobs_;
  Gauges& queue_depth_;
  Counters& search_seconds_;
  Counters& search_candidates_;
  Counters& profile_cache_hits_;
  Counters& profile_cache_misses_;
  Counters& result_cache_hits_;
  Gauges& profiles_stored_;
  Counters& tasks_;
  Gauges& workers_;
  Counters& worker_restarts_;
  Counters& child_crashes_;
  Counters& blob_bytes_received_;
  Gauges& blob_files_;
  Gauges& blob_bytes_;
  Histograms& storage_commit_seconds_;
  Gauges& uptime_;
};

}  // namespace plait
