#include "server/server.h"

#include <utility>

#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/address.h"
#include "server/engine_digest.h"
#include "server/http_endpoint.h"
#include "server/jobs/job_queue.h"
#include "server/local_workers.h"
#include "server/rpc_credentials.h"
#include "server/rpc_listener.h"
#include "server/services/handlers.h"
#include "server/storage_upkeep.h"
#include "server/telemetry/log.h"
#include "server/workers/runtime_workers.h"
#include "server/workers/worker_supervisor.h"

namespace plait {
namespace {

// 3 s: an upload's chunk or a last page of events; longer calls are broken off and repeated.
constexpr absl::Duration kShutdownGrace = absl::Seconds(3);

StorageUpkeepOptions UpkeepOptions(const Config& config) {
  StorageUpkeepOptions options;
  if (config.jobs_kept_days > 0) options.jobs_kept = absl::Hours(24) * config.jobs_kept_days;
  options.blobs_bytes_max = config.blobs_bytes_max;
  options.blobs_seen_unused = absl::Seconds(config.blobs_seen_unused_seconds);
  return options;
}

// 4 MiB: four of the largest chunks of a blob, and gRPC's own default.
constexpr int kClientMessageBytesMax = 4 << 20;
// 16 MiB: a worker's answer names each kernel of a task by its key.
constexpr int kWorkerMessageBytesMax = 16 << 20;
// Parsed: eight times their bytes. Profiles, of which the largest requests consist, take six times.
constexpr int64_t kClientRequestBytesMax = 8 * int64_t{kClientMessageBytesMax};
constexpr int64_t kWorkerRequestBytesMax = 8 * int64_t{kWorkerMessageBytesMax};
// Of all calls at a time. One worker's is the largest, so a second must wait for it.
constexpr int64_t kClientRequestsBytesMax = 2 * kClientRequestBytesMax;
constexpr int64_t kWorkerRequestsBytesMax = kWorkerRequestBytesMax;

// 192 MiB: requests of 48 callers that are all as large as they may be.
constexpr int64_t kTransportBytesMax = int64_t{192} << 20;

// Besides the streams: calls that are answered in a moment.
constexpr int64_t kClientCallThreads = 64;
// An idle worker's call takes a thread for a second.
constexpr int64_t kWorkerCallThreads = 1024;

// 60 s: a megabyte over a line that is worth nothing, or a client that looks for its next file.
constexpr absl::Duration kStreamWaitMax = absl::Seconds(60);

// The storage is asked once a second.
constexpr int64_t kStorageSilenceSecondsMax = 5;

// On an address of this machine everybody is its operator; elsewhere a certificate tells that
// somebody was let in.
Roles ClientRoles(const Config& config) {
  if (wire::IsLocalAddress(config.listen) || !config.tls_client_ca.empty()) {
    return {Role::kClient, Role::kOperator};
  }
  return {Role::kClient};
}

// Of how the server is set up; the log and every client that asks are told.
std::vector<std::string> WarningsOf(const Config& config) {
  if (!IsPlaintext(config) || wire::IsLocalAddress(config.listen)) return {};
  return {absl::StrCat(config.listen,
                       " is served without TLS, and other machines may reach it: whoever listens "
                       "in reads models and results (use tls_cert and tls_key)")};
}

// A gRPC server with its services. Not movable: the services refer to the context.
struct RpcDoor {
  explicit RpcDoor(const ServiceContext& given) : context(given), handlers(MakeHandlers(context)) {}

  absl::Status Start(RpcListenerOptions options) {
    for (const auto& handler : handlers) options.services.push_back(handler.get());
    PLAIT_ASSIGN_OR_RETURN(listener, StartRpcListener(options));
    return absl::OkStatus();
  }

  const ServiceContext context;
  const std::vector<std::unique_ptr<grpc::Service>> handlers;
  RpcListener listener;
};

}  // namespace

std::string Version() { return PLAIT_VERSION; }
std::string EngineVersion() {
  return absl::StrCat("plait-", PLAIT_VERSION, "+", PLAIT_ENGINE_DIGEST);
}

// Members are destroyed from the last to the first: first who calls, then who is called.
struct Server::Parts {
  Parts(const Config& config_given, Clock& clock_given)
      : config(config_given),
        clock(clock_given),
        began(clock.Monotonic()),
        metrics(Version(), EngineVersion()),
        pool(clock,
             {.task_ended = [this](absl::string_view kind,
                                   absl::string_view outcome) { metrics.TaskEnded(kind, outcome); },
              .measuring_here = [this](bool measuring) { park.SetQuiet(measuring); }}) {}

  std::string UnreadyReason() {
    // The worst first: an operator sees one reason.
    if (draining) return "draining";
    // Not asked here: a storage that hangs would take a thread for each who wants to know.
    if (absl::ToInt64Seconds(clock.Monotonic()) - storage_answered_seconds >
        kStorageSilenceSecondsMax) {
      return "the storage does not answer";
    }
    if (pool.Workers().empty()) return "no worker is connected";
    return "";
  }

  const Config config;
  std::vector<std::string> local_devices;  // that have a worker of this daemon's
  Clock& clock;
  const absl::Duration began;
  std::atomic<bool> draining = false;
  // Seconds on the clock; looked at by the health pages while Tick may wait for the storage.
  std::atomic<int64_t> storage_answered_seconds = absl::ToInt64Seconds(began);
  Metrics metrics;
  SearchPark park{clock};
  EventHub events;
  StreamSlots client_streams{config.streams_max, config.tenant_streams_max};
  // Tenants are nothing to workers.
  StreamSlots worker_streams{config.streams_max, config.streams_max};
  StreamDeadlines stream_deadlines{clock, kStreamWaitMax};
  RequestMemory client_requests{kClientRequestBytesMax, kClientRequestsBytesMax};
  RequestMemory worker_requests{kWorkerRequestBytesMax, kWorkerRequestsBytesMax};
  std::atomic<JobQueue*> listening_queue = nullptr;
  WorkerPool pool;
  std::unique_ptr<RuntimeWorkers> runtimes;
  Stores stores;
  StorageUpkeep upkeep{stores, metrics, clock, UpkeepOptions(config)};
  std::unique_ptr<JobRunner> runner;
  std::unique_ptr<JobQueue> queue;
  std::unique_ptr<RpcDoor> client_door;
  std::unique_ptr<RpcDoor> worker_door;
  std::unique_ptr<HttpEndpoint> metrics_endpoint;
  std::unique_ptr<HttpEndpoint> health_endpoint;
  std::vector<std::unique_ptr<WorkerSupervisor>> supervisors;

  // Those that have started.
  std::vector<grpc::Server*> RpcServers() const {
    std::vector<grpc::Server*> servers;
    for (const RpcDoor* door : {client_door.get(), worker_door.get()}) {
      if (door != nullptr && door->listener.server != nullptr) {
        servers.push_back(door->listener.server.get());
      }
    }
    return servers;
  }

  // Load balancers that ask for the health send no more calls.
  void TellDraining() const {
    for (grpc::Server* const server : RpcServers()) {
      server->GetHealthCheckService()->SetServingStatus(false);
    }
  }

  absl::Status OpenStorage();
  void StartJobs();
  ServiceContext ContextFor(Roles roles, StreamSlots& streams, RequestMemory& memory);
  absl::Status Serve();
  absl::Status ServeHttp();
  void StartWorkers();
};

absl::Status Server::Parts::OpenStorage() {
  StoresOptions options;
  options.directory = config.data_dir;
  options.queued_jobs_max = config.queued_jobs_max;
  options.listener = [this](const std::string& job_id) {
    events.Notify(job_id);
    if (JobQueue* const woken = listening_queue) woken->Wake(job_id);
  };
  PLAIT_ASSIGN_OR_RETURN(stores, OpenStores("sqlite", options, clock));
  // It holds the models of all tenants, and the socket that asks nobody who calls.
  chmod(config.data_dir.c_str(), 0700);
  // Whatever ran when the last daemon of this directory died is queued again; nobody else runs it,
  // since the store holds the directory's lock.
  PLAIT_ASSIGN_OR_RETURN(const int recovered, stores.jobs->RecoverRunningJobs());
  LogInfo("storage.opened",
          {{"directory", config.data_dir}, {"jobs_recovered", absl::StrCat(recovered)}});
  return absl::OkStatus();
}

void Server::Parts::StartJobs() {
  const JobRunnerContext context = {stores, pool, park, metrics, clock, runtimes.get()};
  JobRunnerOptions options;
  options.data_directory = config.data_dir;
  options.engine_version = EngineVersion();
  options.grace = absl::Seconds(config.job_grace_seconds);
  options.task_time_max = absl::Seconds(config.task_seconds_max);
  options.search_threads = static_cast<int>(config.search_threads);
  options.child.limits.memory_bytes_max = config.child_memory_bytes;
  runner = std::make_unique<JobRunner>(context, options);
  queue = std::make_unique<JobQueue>(
      context, *runner, JobQueueOptions{.runners = static_cast<int>(config.jobs_running_max)});
  // Atomic, because the store's threads may call the listener already.
  listening_queue = queue.get();
  queue->Start();
}

ServiceContext Server::Parts::ContextFor(Roles roles, StreamSlots& streams, RequestMemory& memory) {
  return {.stores = stores,
          .pool = pool,
          .metrics = metrics,
          .clock = clock,
          .events = events,
          .streams = streams,
          .stream_deadlines = stream_deadlines,
          .request_memory = memory,
          .version = Version(),
          .engine_version = EngineVersion(),
          .warnings = WarningsOf(config),
          .local_devices = local_devices,
          .runtimes = runtimes.get(),
          .tenant_queued_jobs_max = config.tenant_queued_jobs_max,
          .uploads_bytes_max = config.blobs_bytes_max / 2,
          .started_at = clock.Now(),
          .draining = draining,
          .caller_roles = roles};
}

// Two servers, because the one that a call came in by is all that is known of its caller.
absl::Status Server::Parts::Serve() {
  for (const std::string& warning : WarningsOf(config)) {
    LogWarning("server.insecure", {{"warning", warning}});
  }
  client_door =
      std::make_unique<RpcDoor>(ContextFor(ClientRoles(config), client_streams, client_requests));
  PLAIT_ASSIGN_OR_RETURN(const auto client_credentials,
                         ListenerCredentials(config, config.tls_client_ca));
  PLAIT_RETURN_IF_ERROR(
      client_door->Start({.addresses = {{config.listen, client_credentials}},
                          .message_bytes_max = kClientMessageBytesMax,
                          .threads_max = static_cast<int>(config.streams_max + kClientCallThreads),
                          .transport_bytes_max = kTransportBytesMax}));

  worker_door =
      std::make_unique<RpcDoor>(ContextFor({Role::kWorker}, worker_streams, worker_requests));
  // Without credentials: whoever may enter the data directory (mode 0700) may call it.
  std::vector<RpcAddress> worker_addresses = {
      {WorkerSocket(config.data_dir), grpc::InsecureServerCredentials()}};
  if (!config.worker_listen.empty()) {
    PLAIT_ASSIGN_OR_RETURN(const auto worker_credentials,
                           ListenerCredentials(config, config.tls_worker_ca));
    worker_addresses.push_back({config.worker_listen, worker_credentials});
  }
  PLAIT_RETURN_IF_ERROR(
      worker_door->Start({.addresses = worker_addresses,
                          .message_bytes_max = kWorkerMessageBytesMax,
                          .threads_max = static_cast<int>(config.streams_max + kWorkerCallThreads),
                          .transport_bytes_max = kTransportBytesMax}));
  return ServeHttp();
}

absl::Status Server::Parts::ServeHttp() {
  HttpPages pages = HealthPages([this] { return UnreadyReason(); });
  if (!config.health_listen.empty()) {
    PLAIT_ASSIGN_OR_RETURN(health_endpoint,
                           HttpEndpoint::Start("health_listen", config.health_listen, pages));
  }
  if (config.metrics_listen.empty()) return absl::OkStatus();
  pages.merge(MetricsPages(metrics));
  PLAIT_ASSIGN_OR_RETURN(metrics_endpoint,
                         HttpEndpoint::Start("metrics_listen", config.metrics_listen, pages));
  return absl::OkStatus();
}

// Last, because workers call the services at once.
void Server::Parts::StartWorkers() {
  for (const std::string& device : local_devices) {
    WorkerSupervisorOptions options = LocalWorkerOptions(config, device);
    options.restarted = [this] { metrics.WorkerRestarted(); };
    supervisors.push_back(std::make_unique<WorkerSupervisor>(pool, clock, options));
  }
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, Clock& clock) {
  auto parts = std::make_unique<Parts>(config, clock);
  PLAIT_RETURN_IF_ERROR(parts->OpenStorage());
  // Takes seconds where a driver has to begin, which nobody waits for who may not have the storage.
  parts->local_devices = LocalDevices(config);
  parts->runtimes =
      std::make_unique<RuntimeWorkers>(parts->pool, clock, LocalRuntimesOptions(config));
  parts->StartJobs();
  // From here on the parts have threads, which the destructor of the server stops.
  std::unique_ptr<Server> server(new Server(std::move(parts)));
  PLAIT_RETURN_IF_ERROR(server->parts_->Serve());
  server->parts_->StartWorkers();
  server->parts_->upkeep.Start();
  server->Tick();
  return server;
}

Server::~Server() {
  Parts& parts = *parts_;
  parts.draining = true;
  parts.TellDraining();
  // First those who wait in calls, so that the calls can end within the grace.
  parts.events.Close();
  // Before the workers end: runners that wait for an answer are told to stop, not left waiting.
  parts.queue->Stop();
  parts.supervisors.clear();
  parts.runtimes->Stop();
  parts.pool.Drain();
  parts.metrics_endpoint.reset();
  parts.health_endpoint.reset();
  const auto end = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kShutdownGrace);
  for (grpc::Server* const server : parts.RpcServers()) server->Shutdown(end);
  parts.listening_queue = nullptr;
  // Events only; everything that was acknowledged was on disk before its answer.
  parts.stores.jobs->Flush().IgnoreError();
}

std::string Server::address() const { return parts_->client_door->listener.addresses.front(); }

std::string Server::worker_address() const {
  // The first is the socket of this machine's own workers.
  return parts_->config.worker_listen.empty() ? "" : parts_->worker_door->listener.addresses.back();
}

std::string Server::metrics_address() const {
  return parts_->metrics_endpoint == nullptr ? "" : parts_->metrics_endpoint->address();
}

std::string Server::health_address() const {
  return parts_->health_endpoint == nullptr ? "" : parts_->health_endpoint->address();
}

void Server::Tick() {
  Parts& parts = *parts_;
  parts.pool.CheckTimes();
  parts.stream_deadlines.CheckTimes();
  parts.queue->RecoverStrandedJobs();
  parts.metrics.SetUptime(parts.clock.Monotonic() - parts.began);
  if (parts.draining) {
    parts.queue->Drain();
    parts.TellDraining();
  }
  if (const absl::StatusOr<JobCounts> counts = parts.stores.jobs->Count(); counts.ok()) {
    parts.storage_answered_seconds = absl::ToInt64Seconds(parts.clock.Monotonic());
    parts.metrics.SetJobs(counts->queued, counts->running);
  }
  parts.metrics.SetStreams(parts.client_streams.open());
  int64_t busy = 0;
  const std::vector<admin::v1::WorkerState> workers = parts.pool.Workers();
  for (const admin::v1::WorkerState& worker : workers) busy += worker.task_id().empty() ? 0 : 1;
  parts.metrics.SetWorkers(static_cast<int64_t>(workers.size()) - busy, busy);
}

bool Server::IsDrained() { return parts_->draining && parts_->queue->running() == 0; }

}  // namespace plait
