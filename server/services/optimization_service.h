#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include "plait/v1/optimization.pb.h"
#include "server/services/service_context.h"

namespace plait {

// Jobs: submits, shows, lists, watches and cancels them, all of the caller's tenant. A handler
// checks the request, calls the store and converts; what jobs do is decided in server/jobs.
// See optimization.proto for each RPC and its errors. Thread-safe.
class OptimizationServiceHandler final {
 public:
  // `context` must outlive the handler.
  explicit OptimizationServiceHandler(const ServiceContext& context) : context_(context) {}

  // Answers when the job is on disk.
  // The request id makes repeating safe: the same request gives the job of then, also after a crash
  // between the commit and the answer.
  grpc::Status OptimizeModel(grpc::ServerContext* context, const v1::OptimizeModelRequest* request,
                             v1::OptimizeModelResponse* response);
  // With the attempts and their evidence, and the report when there is one.
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response);
  // Pages by number, newest first; a token fits the tenant and state that it was made for.
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response);
  // Answers when the wish is on disk, not when the job has ended; a final job is left as it is.
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::CancelJobResponse* response);
  // Answers when the job is gone from the disk.
  grpc::Status DeleteJob(grpc::ServerContext* context, const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse* response);
  // Takes a thread of the server for as long as somebody watches. A watcher is woken by the events
  // of any job, reads those of its own from the store, and is sent away when the server stops.
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer);

 private:
  const ServiceContext& context_;
};

}  // namespace plait
