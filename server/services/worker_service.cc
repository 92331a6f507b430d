#include "server/services/worker_service.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/check_device.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"
#include "proto/wire/worker_protocol.h"
#include "server/services/rpc_scope.h"

namespace plait {
namespace {

// An idle worker's call is answered when there is work, or after this: work starts at once, and
// yet an idle worker calls rarely.
constexpr absl::Duration kIdleWait = absl::Seconds(1);

// `peer` is gRPC's name of the other end. A worker of this host that calls by another address than
// the loopback's is taken for one elsewhere; plaitd's own workers use the unix socket.
WorkerPlace PlaceOf(absl::string_view peer) {
  constexpr absl::string_view kThisHost[] = {"unix:", "ipv4:127.",
                                             "ipv6:[::1]:", "ipv6:%5B::1%5D:"};
  for (const absl::string_view prefix : kThisHost) {
    if (absl::StartsWith(peer, prefix)) return WorkerPlace::kThisHost;
  }
  return WorkerPlace::kElsewhere;
}

// A worker that understands tasks otherwise would measure something else, and be believed.
absl::Status CheckProtocolVersion(int version) {
  if (version == wire::kWorkerProtocolVersion) return absl::OkStatus();
  return wire::FieldError(
      "protocol_version",
      absl::StrCat("must be ", wire::kWorkerProtocolVersion, ", is ", version,
                   " (worker and server must be of versions that understand each other)"));
}

}  // namespace

grpc::Status WorkerServiceHandler::Synchronize(grpc::ServerContext* context,
                                               const worker::v1::SynchronizeRequest* request,
                                               worker::v1::SynchronizeResponse* response) {
  return AnswerRpc(context_, *context, Method::kSynchronize, [&](const Caller&) -> absl::Status {
    const WorkerPlace place = PlaceOf(context->peer());
    // Ids are written to the log and shown to operators.
    PLAIT_RETURN_IF_ERROR(wire::CheckName("worker_id", request->worker_id()));
    PLAIT_RETURN_IF_ERROR(CheckProtocolVersion(request->protocol_version()));
    PLAIT_RETURN_IF_ERROR(wire::CheckDevice(request->device()));
    // No search of this server could use the device: no job shall name it. A runtime is no device
    // of a search.
    if (request->device().runtime_version().empty()) {
      PLAIT_RETURN_IF_ERROR(wire::CheckBackend("device.backend", request->device().backend()));
    }
    *response = context_.pool.Synchronize(*request, place);
    if (request->has_idle() && response->has_idle() && !request->prefer_being_idle() &&
        !context_.draining) {
      context_.pool.AwaitWork(request->device(), kIdleWait);
      if (context->IsCancelled()) return absl::CancelledError("the worker has gone");
      *response = context_.pool.Synchronize(*request, place);
      // It has waited here already.
      response->set_next_synchronize_in_ms(1);
    }
    return absl::OkStatus();
  });
}

}  // namespace plait
