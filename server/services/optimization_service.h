#pragma once

#include "plait/v1/optimization.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// Jobs: submits, shows, lists, watches and cancels them. See optimization.proto. Thread-safe.
class OptimizationServiceHandler final : public v1::OptimizationService::Service {
 public:
  explicit OptimizationServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status OptimizeModel(grpc::ServerContext* context, const v1::OptimizeModelRequest* request,
                             v1::OptimizeModelResponse* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::CancelJobResponse* response) override;
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override;

 private:
  const ServiceContext& context_;
};

}  // namespace plait
