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

// Map of this folder: metrics is what a machine reads about plaitd (rates, levels, times), log what
// a person reads (which job, which worker, why). Both are one-way: nothing in plaitd reads them
// back, and a daemon without a metrics address keeps the numbers for nobody.
//
// What one finished search reports of itself; see Report.
struct SearchCounts {
  // Wall-clock time of the three parts, which do not overlap.
  // Seconds, not negative: a child could say anything, and a counter must not fall.
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
  // plait_rpcs_total{method, code}, calls; plait_rpc_duration_seconds{method}, seconds in buckets
  // from 0.3 ms to 10 s. A watcher's call lasts as long as it watches.
  void RpcEnded(absl::string_view method, absl::string_view code, absl::Duration elapsed);
  // A job was acknowledged; a repeated request counts once.
  // plait_jobs_submitted_total, jobs, without labels.
  void JobSubmitted() { jobs_submitted_.Add({}).Increment(); }
  // A run of a job ended in the final state ("SUCCEEDED") after running for this long.
  // plait_jobs_ended_total{state}, jobs; plait_job_duration_seconds, seconds of the last run, in
  // buckets from 0.1 s to a day. Time in the queue is not part of it.
  void JobEnded(absl::string_view state, absl::Duration elapsed);
  // plait_search_seconds_total{part}, seconds, where part is "search", "profiling" or
  // "verification"; plait_search_candidates_total, graphs; plait_profile_cache_hits_total and
  // plait_profile_cache_misses_total, kernel profiles. Only searches that gave a result count.
  void SearchEnded(const SearchCounts& counts);
  // plait_result_cache_hits_total, jobs. They count as submitted and ended, too.
  void ResultCacheHit() { result_cache_hits_.Add({}).Increment(); }
  // See WorkerPoolOptions::task_ended for the kinds and outcomes.
  // plait_tasks_total{kind, outcome}, attempts: a task that is retried counts each time.
  void TaskEnded(absl::string_view kind, absl::string_view outcome);
  // plait_worker_restarts_total, workers of this machine; the first start is none.
  void WorkerRestarted() { worker_restarts_.Add({}).Increment(); }
  // `reason` is "crash", "limit" or "protocol".
  // plait_search_child_crashes_total{reason}, children. A limit fails the job at once, the other
  // two count towards its quarantine.
  void ChildCrashed(absl::string_view reason);
  // plait_blob_received_bytes_total, bytes as they came from clients.
  void BlobBytesReceived(int64_t bytes);
  // The time from a submission until it was on disk.
  // plait_storage_commit_seconds, seconds in the buckets of RPCs. A disk that becomes slow shows
  // here first, because every acknowledged job waits for it.
  void StorageCommitted(absl::Duration elapsed);

  // How things stand: gauges, set about once a second or less often.
  // plait_jobs{state}, where state is "QUEUED" or "RUNNING", and plait_queue_depth: jobs of all
  // tenants.
  void SetJobs(int64_t queued, int64_t running);
  // plait_workers{state}, where state is "idle" or "busy".
  void SetWorkers(int64_t idle, int64_t busy);
  // plait_streams, watchers, uploads and downloads of clients that are open.
  void SetStreams(int64_t open) { streams_.Add({}).Set(static_cast<double>(open)); }
  // plait_profiles_stored, profiles; plait_blob_files, blobs; plait_blob_stored_bytes, bytes of
  // them and of unfinished uploads.
  void SetStored(int64_t profiles, int64_t blobs, int64_t blob_bytes);
  // plait_process_uptime_seconds, seconds since the start.
  void SetUptime(absl::Duration uptime) { uptime_.Add({}).Set(absl::ToDoubleSeconds(uptime)); }

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  // Each registers one family for good; `help` is what Prometheus shows.
  Counters& NewCounters(const char* name, const char* help);
  Gauges& NewGauges(const char* name, const char* help);
  Histograms& NewHistograms(const char* name, const char* help);

  // Owns all families below, which are references into it. Stands first, so that it goes last.
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
  Gauges& streams_;
  Counters& worker_restarts_;
  Counters& child_crashes_;
  Counters& blob_bytes_received_;
  Gauges& blob_files_;
  Gauges& blob_bytes_;
  Histograms& storage_commit_seconds_;
  Gauges& uptime_;
};

}  // namespace plait
