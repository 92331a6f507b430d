#pragma once

#include "plait/v1/blob.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// Large bytes by digest. See blob.proto. Thread-safe.
class BlobServiceHandler final : public v1::BlobService::Service {
 public:
  explicit BlobServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status FindMissingBlobs(grpc::ServerContext* context,
                                const v1::FindMissingBlobsRequest* request,
                                v1::FindMissingBlobsResponse* response) override;
  grpc::Status UploadBlob(grpc::ServerContext* context,
                          grpc::ServerReader<v1::UploadBlobRequest>* reader,
                          v1::UploadBlobResponse* response) override;
  grpc::Status DownloadBlob(grpc::ServerContext* context, const v1::DownloadBlobRequest* request,
                            grpc::ServerWriter<v1::DownloadBlobResponse>* writer) override;

 private:
  absl::Status Upload(const std::string& tenant, grpc::ServerReader<v1::UploadBlobRequest>& reader,
                      v1::UploadBlobResponse& response);
  absl::Status Download(const std::string& tenant, const v1::DownloadBlobRequest& request,
                        grpc::ServerWriter<v1::DownloadBlobResponse>& writer);
  absl::Status CheckMayRead(const std::string& tenant, const Digest& digest);

  const ServiceContext& context_;
};

// Workers fetch the models of all tenants' tasks under this name.
constexpr absl::string_view kWorkerTenant = "plait-worker";

}  // namespace plait
