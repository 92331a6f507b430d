#include "server/services/admin_service.h"

#include "base/status_macros.h"
#include "server/services/rpc_scope.h"
#include "server/telemetry/log.h"

namespace plait {

grpc::Status AdminServiceHandler::GetServerState(grpc::ServerContext* context,
                                                 const admin::v1::GetServerStateRequest*,
                                                 admin::v1::GetServerStateResponse* response) {
  return AnswerRpc(context_, *context, Method::kGetServerState, [&](const Caller&) -> absl::Status {
    response->set_state(context_.draining ? admin::v1::SERVER_STATE_DRAINING
                                          : admin::v1::SERVER_STATE_SERVING);
    response->set_version(context_.version);
    response->set_engine_version(context_.engine_version);
    response->mutable_start_time()->set_seconds(absl::ToUnixSeconds(context_.started_at));
    PLAIT_ASSIGN_OR_RETURN(const JobCounts counts, context_.stores.jobs->Count());
    response->set_jobs_queued(counts.queued);
    response->set_jobs_running(counts.running);
    for (const admin::v1::WorkerState& worker : context_.pool.Workers()) {
      *response->add_workers() = worker;
    }
    // Listed, not counted as they come and go: operators ask rarely.
    PLAIT_ASSIGN_OR_RETURN(const std::vector<BlobEntry> blobs, context_.stores.blobs->List());
    response->set_blobs(static_cast<int64_t>(blobs.size()));
    int64_t bytes = 0;
    for (const BlobEntry& blob : blobs) bytes += blob.digest.size_bytes;
    response->set_blob_bytes(bytes);
    PLAIT_ASSIGN_OR_RETURN(const int64_t profiles, context_.stores.profiles->Count());
    response->set_profiles(profiles);
    return absl::OkStatus();
  });
}

grpc::Status AdminServiceHandler::DrainServer(grpc::ServerContext* context,
                                              const admin::v1::DrainServerRequest*,
                                              admin::v1::DrainServerResponse* response) {
  return AnswerRpc(context_, *context, Method::kDrainServer, [&](const Caller&) -> absl::Status {
    // The server's Tick sees the flag and stops the queue; repeating the call is harmless.
    if (!context_.draining.exchange(true)) LogInfo("server.draining", {});
    // Counted after the flag; a job that a runner takes before the next Tick is not in it.
    PLAIT_ASSIGN_OR_RETURN(const JobCounts counts, context_.stores.jobs->Count());
    response->set_jobs_running(counts.running);
    return absl::OkStatus();
  });
}

}  // namespace plait
