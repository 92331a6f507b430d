#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "plait/v1/optimization.grpc.pb.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/grpc_status.h"
#include "server/services/handlers.h"
#include "server/services/service_context.h"
#include "tests/base/manual_clock.h"

namespace plait {

// Whether a status is an error with this reason.
MATCHER_P(HasReason, reason, v1::ErrorReason_Name(reason)) {
  const absl::Status& status = arg;
  *result_listener << status.ToString();
  return !status.ok() && wire::ReasonOf(status) == reason;
}

// Whether an error's message holds `text`.
MATCHER_P(Says, text, "") {
  const absl::Status& status = arg;
  *result_listener << status.ToString();
  return absl::StrContains(status.message(), text);
}

// Runtimes that are known at once.
class FakeRuntimes : public Runtimes {
 public:
  Found found;
  Found Await(absl::Duration) override { return found; }
  void StartWorker(const std::string&) override {}
};

// All services in this process: over stores in memory and a clock that tests move, called through
// gRPC without a network, so that metadata, streams and errors travel as they do in a daemon. As in
// a daemon there are two servers, one for clients and operators, one for workers.
class ServicesTest : public testing::Test {
 protected:
  // Jobs that may wait, of one tenant and of all.
  static constexpr int kTenantJobsMax = 3;
  static constexpr int kJobsMax = 4;
  // Streams that may be open, of one tenant and of all.
  static constexpr int kTenantStreamsMax = 2;
  static constexpr int kStreamsMax = 3;
  // How long a stream may wait for its other end.
  static constexpr absl::Duration kStreamWaitMax = absl::Seconds(60);
  // What unfinished uploads may take.
  static constexpr int64_t kUploadsBytesMax = 20 << 20;
  // What a request may take.
  static constexpr int64_t kRequestBytesMax = 8 << 20;

  ServicesTest();
  ~ServicesTest() override;

  // The context of a call by `tenant`; none is named when it is empty.
  static std::unique_ptr<grpc::ClientContext> ContextOf(absl::string_view tenant);

  // Calls a unary RPC as a client of `tenant`: Call(&Stub::GetJob, request).
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&,
                                                          Response*),
                                const Request& request, absl::string_view tenant = "alice") {
    return CallBy(channel(), rpc, request, tenant);
  }

  // The same as a worker.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> CallAsWorker(grpc::Status (Stub::*rpc)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                                        const Request& request) {
    return CallBy(worker_channel(), rpc, request, "");
  }

  // For streams.
  const std::shared_ptr<grpc::Channel>& channel() const { return client_server_->channel(); }
  const std::shared_ptr<grpc::Channel>& worker_channel() const { return worker_server_->channel(); }

  // Stores bytes that `tenant` may name.
  v1::Digest Give(absl::string_view bytes, absl::string_view tenant = "alice");

  // A request to optimize a model that alice has uploaded, on the device of this machine.
  v1::OptimizeModelRequest ModelRequest();

  // Queues a job for it.
  v1::Job SubmitJob(absl::string_view tenant = "alice");

  // A worker with a device calls, and has nothing to do. Devices of other cores are others.
  void ConnectWorker(const std::string& worker_id, const std::string& device_id, int cores = 0);

  // The times that the RPC was counted with a gRPC code, such as "OK".
  double Counted(absl::string_view method, absl::string_view code);

  ManualClock clock_;
  EventHub events_;
  StreamSlots streams_{kStreamsMax, kTenantStreamsMax};
  StreamDeadlines stream_deadlines_{clock_, kStreamWaitMax};
  RequestMemory request_memory_{kRequestBytesMax, 2 * kRequestBytesMax};
  Stores stores_;
  Metrics metrics_{"1.2.3", "engine"};
  WorkerPool pool_{clock_, {}};
  std::atomic<bool> draining_ = false;
  FakeRuntimes runtimes_;
  std::unique_ptr<ServiceContext> context_;         // of clients and operators
  std::unique_ptr<ServiceContext> worker_context_;  // of workers

 private:
  class InProcessServer {
   public:
    explicit InProcessServer(const ServiceContext& context);
    ~InProcessServer();

    const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

   private:
    const std::vector<std::unique_ptr<grpc::Service>> handlers_;
    std::unique_ptr<grpc::Server> server_;
    std::shared_ptr<grpc::Channel> channel_;
  };

  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> CallBy(const std::shared_ptr<grpc::Channel>& channel,
                                  grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&,
                                                            Response*),
                                  const Request& request, absl::string_view tenant) {
    Stub stub(channel);
    Response response;
    const std::unique_ptr<grpc::ClientContext> context = ContextOf(tenant);
    const grpc::Status status = (stub.*rpc)(context.get(), request, &response);
    if (!status.ok()) return wire::FromGrpcStatus(status);
    return response;
  }

  std::unique_ptr<InProcessServer> client_server_;
  std::unique_ptr<InProcessServer> worker_server_;
};

}  // namespace plait
