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

// What one finished search reports of itself.
struct SearchCounts {
  double search_seconds = 0;
  double profiling_seconds = 0;
  double verification_seconds = 0;
  int64_t candidates = 0;
  int64_t profiles_measured = 0;
  int64_t profiles_cached = 0;
};

// Everything that plaitd tells Prometheus. Names begin with plait_, units are base units, labels
// come from small fixed sets and never from clients. Thread-safe.
class Metrics {
 public:
  Metrics(absl::string_view version, absl::string_view engine_version);

  prometheus::Registry& registry() { return *registry_; }

  void RpcEnded(absl::string_view method, absl::string_view code, absl::Duration elapsed);
  void JobSubmitted() { jobs_submitted_.Add({}).Increment(); }
  void JobEnded(absl::string_view state, absl::Duration elapsed);
  void SearchEnded(const SearchCounts& counts);
  void ResultCacheHit() { result_cache_hits_.Add({}).Increment(); }
  void TaskEnded(absl::string_view kind, absl::string_view outcome);
  void WorkerRestarted() { worker_restarts_.Add({}).Increment(); }
  void ChildCrashed(absl::string_view reason);
  void BlobBytesReceived(int64_t bytes);
  void StorageCommitted(absl::Duration elapsed);

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
