#include "server/services/worker_service.h"

#include "base/status_macros.h"
#include "proto/wire/names.h"
#include "server/services/rpc_scope.h"

namespace plait {
namespace {

// An idle worker's call is answered when there is work, or after this: work starts at once, and
// yet an idle worker calls rarely.
constexpr absl::Duration kIdleWait = absl::Seconds(1);

}  // namespace

grpc::Status WorkerServiceHandler::Synchronize(grpc::ServerContext*,
                                               const worker::v1::SynchronizeRequest* request,
                                               worker::v1::SynchronizeResponse* response) {
  return AnswerRpc(context_.metrics, context_.clock, "Synchronize", [&]() -> absl::Status {
    PLAIT_RETURN_IF_ERROR(wire::CheckName("worker_id", request->worker_id()));
    PLAIT_RETURN_IF_ERROR(wire::CheckDeviceId(request->device().id()));
    PLAIT_RETURN_IF_ERROR(wire::CheckName("device.fingerprint", request->device().fingerprint()));
    *response = context_.pool.Synchronize(*request);
    if (request->has_idle() && response->has_idle() && !request->prefer_being_idle() &&
        !context_.draining) {
      context_.pool.AwaitWork(request->device(), kIdleWait);
      *response = context_.pool.Synchronize(*request);
      response->set_next_synchronize_in_ms(1);
    }
    return absl::OkStatus();
  });
}

}  // namespace plait
