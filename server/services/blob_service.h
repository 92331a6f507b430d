#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include "plait/v1/blob.pb.h"
#include "server/services/service_context.h"

namespace plait {

// Large bytes by digest. Blobs of equal digests are stored once for all tenants, but a tenant sees
// only those that it has shown to have: by uploading every byte of them, or as results of its jobs.
// Knowing a digest is not having the bytes. A worker sees what the task names that it was given.
// See blob.proto for each RPC and its errors. Thread-safe.
class BlobServiceHandler final {
 public:
  // `context` must outlive the handler.
  explicit BlobServiceHandler(const ServiceContext& context) : context_(context) {}

  // A blob that is stored but not the tenant's counts as missing; asking about one of its own keeps
  // that from being collected for a while.
  grpc::Status FindMissingBlobs(grpc::ServerContext* context,
                                const v1::FindMissingBlobsRequest* request,
                                v1::FindMissingBlobsResponse* response);
  // Answers when the blob is complete, checked against its digest and on disk; a broken upload is
  // kept, and goes on where it ended.
  grpc::Status UploadBlob(grpc::ServerContext* context,
                          grpc::ServerReaderInterface<v1::UploadBlobRequest>* reader,
                          v1::UploadBlobResponse* response);
  // In chunks of at most kBlobChunkBytesMax. The blob counts as used for as long as it takes.
  grpc::Status DownloadBlob(grpc::ServerContext* context, const v1::DownloadBlobRequest* request,
                            grpc::ServerWriter<v1::DownloadBlobResponse>* writer);

 private:
  // Reads the stream to its end, unless a chunk is refused.
  // The tenant may name the blob when this has returned OK, not before: the bytes are durable
  // first.
  absl::Status Upload(const Caller& caller, grpc::ServerContext& call,
                      grpc::ServerReaderInterface<v1::UploadBlobRequest>& reader,
                      v1::UploadBlobResponse& response);
  absl::Status Download(const Caller& caller, grpc::ServerContext& call,
                        const v1::DownloadBlobRequest& request,
                        grpc::ServerWriter<v1::DownloadBlobResponse>& writer);
  // Whether one more chunk of the upload may be kept. Uploads of the same moment do not see each
  // other's chunks, and pass a limit by one each.
  // Errors: ResourceExhausted (QUOTA_EXCEEDED) naming the limit.
  absl::Status CheckRoom(const BlobUpload& upload, int64_t bytes);
  // Whether the blob is there and the tenant may name it; then it is noted to be in use.
  absl::StatusOr<bool> HasBlob(const Caller& caller, const Digest& digest);
  // Errors: NotFound, whether the blob is another tenant's or nobody's.
  absl::Status CheckMayRead(const Caller& caller, const grpc::ServerContext& call,
                            const Digest& digest);

  // Bytes are never held as a whole: a chunk at a time passes through memory.
  const ServiceContext& context_;
};

}  // namespace plait
