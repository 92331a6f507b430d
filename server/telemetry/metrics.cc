#include "server/telemetry/metrics.h"

namespace plait {
namespace {

// Buckets are part of the interface: dashboards compute percentiles from them, and other ones make
// old and new numbers incomparable.
// From a fast RPC to the longest job, three to a decade.
prometheus::Histogram::BucketBoundaries RpcSeconds() {
  return {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};
}
prometheus::Histogram::BucketBoundaries JobSeconds() {
  return {0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400};
}

}  // namespace

Metrics::Metrics(absl::string_view version, absl::string_view engine_version)
    : registry_(std::make_shared<prometheus::Registry>()),
      rpcs_(NewCounters("plait_rpcs_total", "RPCs answered, by method and gRPC code.")),
      rpc_seconds_(NewHistograms("plait_rpc_duration_seconds", "Time to answer an RPC.")),
      jobs_submitted_(NewCounters("plait_jobs_submitted_total", "Jobs acknowledged.")),
      jobs_ended_(NewCounters("plait_jobs_ended_total", "Jobs ended, by final state.")),
      job_seconds_(NewHistograms("plait_job_duration_seconds", "Run time of a job's last run.")),
      jobs_(NewGauges("plait_jobs", "Jobs that are not ended, by state.")),
      queue_depth_(NewGauges("plait_queue_depth", "Jobs that wait for a runner.")),
      search_seconds_(NewCounters("plait_search_seconds_total", "Time of searches, by part.")),
      search_candidates_(NewCounters("plait_search_candidates_total", "Graphs considered.")),
      profile_cache_hits_(
          NewCounters("plait_profile_cache_hits_total", "Kernel profiles found in the store.")),
      profile_cache_misses_(
          NewCounters("plait_profile_cache_misses_total", "Kernel profiles measured.")),
      result_cache_hits_(
          NewCounters("plait_result_cache_hits_total", "Jobs answered by an earlier result.")),
      profiles_stored_(NewGauges("plait_profiles_stored", "Kernel profiles in the store.")),
      tasks_(NewCounters("plait_tasks_total", "Worker task attempts, by kind and outcome.")),
      workers_(NewGauges("plait_workers", "Connected workers, by state.")),
      streams_(NewGauges("plait_streams", "Watchers, uploads and downloads that are open.")),
      worker_restarts_(
          NewCounters("plait_worker_restarts_total", "Restarts of this machine's workers.")),
      child_crashes_(
          NewCounters("plait_search_child_crashes_total", "Search children lost, by reason.")),
      blob_bytes_received_(
          NewCounters("plait_blob_received_bytes_total", "Bytes of blobs uploaded.")),
      blob_files_(NewGauges("plait_blob_files", "Blobs stored.")),
      blob_bytes_(NewGauges("plait_blob_stored_bytes", "Bytes of blobs stored.")),
      storage_commit_seconds_(
          NewHistograms("plait_storage_commit_seconds", "Time until a job was on disk.")),
      uptime_(NewGauges("plait_process_uptime_seconds", "Time since the start.")) {
  NewGauges("plait_build_info", "1, with the versions as labels.")
      .Add({{"version", std::string(version)}, {"engine_version", std::string(engine_version)}})
      .Set(1);
  // Series that exist from the start let alerts see the first increase.
  jobs_submitted_.Add({});
  worker_restarts_.Add({});
  profile_cache_hits_.Add({});
  profile_cache_misses_.Add({});
  result_cache_hits_.Add({});
  search_candidates_.Add({});
  blob_bytes_received_.Add({});
  for (const char* reason : {"crash", "limit", "protocol"}) {
    child_crashes_.Add({{"reason", reason}});
  }
  for (const char* state : {"SUCCEEDED", "FAILED", "CANCELLED", "QUARANTINED"}) {
    jobs_ended_.Add({{"state", state}});
  }
  for (const char* kind : {"profile", "measure"}) tasks_.Add({{"kind", kind}, {"outcome", "ok"}});
  for (const char* part : {"search", "profiling", "verification"}) {
    search_seconds_.Add({{"part", part}});
  }
  job_seconds_.Add({}, JobSeconds());
  storage_commit_seconds_.Add({}, RpcSeconds());
}

// Families are registered in the constructor only and live as long as the registry.
Metrics::Counters& Metrics::NewCounters(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_);
}

Metrics::Gauges& Metrics::NewGauges(const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry_);
}

Metrics::Histograms& Metrics::NewHistograms(const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry_);
}

void Metrics::RpcEnded(absl::string_view method, absl::string_view code, absl::Duration elapsed) {
  rpcs_.Add({{"method", std::string(method)}, {"code", std::string(code)}}).Increment();
  rpc_seconds_.Add({{"method", std::string(method)}}, RpcSeconds())
      .Observe(absl::ToDoubleSeconds(elapsed));
}

// The state is a label of the count only: a histogram for each would multiply its buckets.
void Metrics::JobEnded(absl::string_view state, absl::Duration elapsed) {
  jobs_ended_.Add({{"state", std::string(state)}}).Increment();
  job_seconds_.Add({}, JobSeconds()).Observe(absl::ToDoubleSeconds(elapsed));
}

void Metrics::SearchEnded(const SearchCounts& counts) {
  search_seconds_.Add({{"part", "search"}}).Increment(counts.search_seconds);
  search_seconds_.Add({{"part", "profiling"}}).Increment(counts.profiling_seconds);
  search_seconds_.Add({{"part", "verification"}}).Increment(counts.verification_seconds);
  search_candidates_.Add({}).Increment(static_cast<double>(counts.candidates));
  profile_cache_hits_.Add({}).Increment(static_cast<double>(counts.profiles_cached));
  profile_cache_misses_.Add({}).Increment(static_cast<double>(counts.profiles_measured));
}

void Metrics::TaskEnded(absl::string_view kind, absl::string_view outcome) {
  tasks_.Add({{"kind", std::string(kind)}, {"outcome", std::string(outcome)}}).Increment();
}

void Metrics::ChildCrashed(absl::string_view reason) {
  child_crashes_.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::BlobBytesReceived(int64_t bytes) {
  blob_bytes_received_.Add({}).Increment(static_cast<double>(bytes));
}

void Metrics::StorageCommitted(absl::Duration elapsed) {
  storage_commit_seconds_.Add({}, RpcSeconds()).Observe(absl::ToDoubleSeconds(elapsed));
}

void Metrics::SetJobs(int64_t queued, int64_t running) {
  jobs_.Add({{"state", "QUEUED"}}).Set(static_cast<double>(queued));
  jobs_.Add({{"state", "RUNNING"}}).Set(static_cast<double>(running));
  queue_depth_.Add({}).Set(static_cast<double>(queued));
}

void Metrics::SetWorkers(int64_t idle, int64_t busy) {
  workers_.Add({{"state", "idle"}}).Set(static_cast<double>(idle));
  workers_.Add({{"state", "busy"}}).Set(static_cast<double>(busy));
}

void Metrics::SetStored(int64_t profiles, int64_t blobs, int64_t blob_bytes) {
  profiles_stored_.Add({}).Set(static_cast<double>(profiles));
  blob_files_.Add({}).Set(static_cast<double>(blobs));
  blob_bytes_.Add({}).Set(static_cast<double>(blob_bytes));
}

}  // namespace plait
