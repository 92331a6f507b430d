#include "server/services/blob_service.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/worker_protocol.h"
#include "server/services/rpc_scope.h"

namespace plait {
namespace {

// 10,000 uploads that are not complete: each is a file, which stays for a day.
constexpr int64_t kUploadsMax = 10'000;
// Several times in the hour for which a blob that was used is kept.
constexpr absl::Duration kUseInterval = absl::Minutes(10);

}  // namespace

grpc::Status BlobServiceHandler::FindMissingBlobs(grpc::ServerContext* context,
                                                  const v1::FindMissingBlobsRequest* request,
                                                  v1::FindMissingBlobsResponse* response) {
  return AnswerRpc(
      context_, *context, Method::kFindMissingBlobs, [&](const Caller& caller) -> absl::Status {
        if (request->digests_size() > kDigestsPerCallMax) {
          return wire::FieldError("digests", absl::StrCat("at most ", kDigestsPerCallMax, ", are ",
                                                          request->digests_size()));
        }
        for (const v1::Digest& proto : request->digests()) {
          PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(proto));
          PLAIT_ASSIGN_OR_RETURN(const bool has_it, HasBlob(caller, digest));
          if (has_it) continue;
          v1::MissingBlob& missing = *response->add_missing();
          *missing.mutable_digest() = proto;
          PLAIT_ASSIGN_OR_RETURN(const int64_t offset,
                                 context_.stores.blobs->BytesUploaded({caller.tenant, digest}));
          missing.set_offset_bytes(offset);
        }
        return absl::OkStatus();
      });
}

grpc::Status BlobServiceHandler::UploadBlob(
    grpc::ServerContext* context, grpc::ServerReaderInterface<v1::UploadBlobRequest>* reader,
    v1::UploadBlobResponse* response) {
  return AnswerRpc(context_, *context, Method::kUploadBlob,
                   [&](const Caller& caller) -> absl::Status {
                     return Upload(caller, *context, *reader, *response);
                   });
}

absl::Status BlobServiceHandler::Upload(const Caller& caller, grpc::ServerContext& call,
                                        grpc::ServerReaderInterface<v1::UploadBlobRequest>& reader,
                                        v1::UploadBlobResponse& response) {
  PLAIT_ASSIGN_OR_RETURN(const StreamSlots::Slot slot, context_.streams.Open(caller.tenant));
  BlobStore& blobs = *context_.stores.blobs;
  v1::UploadBlobRequest chunk;
  const auto read = [&] {
    return context_.stream_deadlines.Await(call, [&] { return reader.Read(&chunk); });
  };
  // The first message names the blob.
  if (!read()) {
    return wire::Error(v1::ERROR_REASON_INVALID_REQUEST, "the upload has no message");
  }
  PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(chunk.digest()));
  // Before a byte is stored.
  if (digest.size_bytes > kModelBytesMax) {
    return wire::Error(
        v1::ERROR_REASON_LIMIT_EXCEEDED,
        absl::StrCat("a blob may have ", kModelBytesMax, " bytes, has ", digest.size_bytes));
  }
  const BlobUpload upload = {caller.tenant, digest};
  PLAIT_ASSIGN_OR_RETURN(const bool has_it, HasBlob(caller, digest));
  do {
    if (static_cast<int64_t>(chunk.data().size()) > kBlobChunkBytesMax) {
      return wire::FieldError("data", absl::StrCat("at most ", kBlobChunkBytesMax,
                                                   " bytes a chunk, has ", chunk.data().size()));
    }
    context_.metrics.BlobBytesReceived(static_cast<int64_t>(chunk.data().size()));
    if (has_it) continue;
    PLAIT_RETURN_IF_ERROR(CheckRoom(upload, static_cast<int64_t>(chunk.data().size())));
    PLAIT_RETURN_IF_ERROR(blobs.Append(upload, chunk.offset_bytes(), chunk.data()).status());
  } while (read());
  if (!has_it) {
    // Checks what this tenant has sent, whether or not others have sent the same before: knowing a
    // digest is not having the bytes. Only then may the tenant name the blob.
    PLAIT_RETURN_IF_ERROR(blobs.Finish(upload));
    PLAIT_RETURN_IF_ERROR(context_.stores.jobs->GrantBlob(caller.tenant, digest));
  }
  *response.mutable_digest() = wire::DigestToProto(digest);
  return absl::OkStatus();
}

absl::Status BlobServiceHandler::CheckRoom(const BlobUpload& upload, int64_t bytes) {
  PLAIT_ASSIGN_OR_RETURN(const UploadUsage usage, context_.stores.blobs->Uploads());
  const int64_t bytes_max = context_.uploads_bytes_max;
  if (bytes_max > 0 && usage.bytes + bytes > bytes_max) {
    return wire::Error(v1::ERROR_REASON_QUOTA_EXCEEDED,
                       absl::StrCat("unfinished uploads take ", usage.bytes, " bytes of ",
                                    bytes_max, ", the most allowed (try again later)"));
  }
  if (usage.count < kUploadsMax) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const int64_t stored, context_.stores.blobs->BytesUploaded(upload));
  if (stored > 0) return absl::OkStatus();
  return wire::Error(v1::ERROR_REASON_QUOTA_EXCEEDED,
                     absl::StrCat("there are ", usage.count,
                                  " unfinished uploads, the most allowed (try again later)"));
}

grpc::Status BlobServiceHandler::DownloadBlob(
    grpc::ServerContext* context, const v1::DownloadBlobRequest* request,
    grpc::ServerWriter<v1::DownloadBlobResponse>* writer) {
  return AnswerRpc(context_, *context, Method::kDownloadBlob,
                   [&](const Caller& caller) -> absl::Status {
                     return Download(caller, *context, *request, *writer);
                   });
}

absl::Status BlobServiceHandler::Download(const Caller& caller, grpc::ServerContext& call,
                                          const v1::DownloadBlobRequest& request,
                                          grpc::ServerWriter<v1::DownloadBlobResponse>& writer) {
  PLAIT_ASSIGN_OR_RETURN(const StreamSlots::Slot slot, context_.streams.Open(caller.tenant));
  PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(request.digest()));
  PLAIT_RETURN_IF_ERROR(CheckMayRead(caller, call, digest));
  v1::DownloadBlobResponse chunk;
  absl::Time used_at = absl::InfinitePast();
  // One chunk in memory at a time, however large the blob is.
  chunk.set_offset_bytes(request.offset_bytes());
  while (true) {
    if (context_.clock.Now() - used_at > kUseInterval) {
      used_at = context_.clock.Now();
      // Is in use. Read tells what is wrong with it; one that cannot be marked can be read.
      context_.stores.blobs->Find(digest).status().IgnoreError();
    }
    PLAIT_ASSIGN_OR_RETURN(
        *chunk.mutable_data(),
        context_.stores.blobs->Read(digest, chunk.offset_bytes(), kBlobChunkBytesMax));
    if (chunk.data().empty()) return absl::OkStatus();
    const bool is_sent = context_.stream_deadlines.Await(call, [&] { return writer.Write(chunk); });
    if (!is_sent) return absl::OkStatus();
    chunk.set_offset_bytes(chunk.offset_bytes() + static_cast<int64_t>(chunk.data().size()));
  }
}

absl::StatusOr<bool> BlobServiceHandler::HasBlob(const Caller& caller, const Digest& digest) {
  // In this order: asking must not keep what is another tenant's, or nobody's.
  PLAIT_ASSIGN_OR_RETURN(const bool may_read,
                         context_.stores.jobs->MayReadBlob(caller.tenant, digest));
  if (!may_read) return false;
  return context_.stores.blobs->Find(digest);
}

absl::Status BlobServiceHandler::CheckMayRead(const Caller& caller, const grpc::ServerContext& call,
                                              const Digest& digest) {
  bool may_read = false;
  if (caller.role == Role::kWorker) {
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view worker_id,
                           NameInMetadata(call, wire::kWorkerIdKey, ""));
    may_read = context_.pool.HasTaskWithBlob(worker_id, digest);
  } else {
    PLAIT_ASSIGN_OR_RETURN(may_read, context_.stores.jobs->MayReadBlob(caller.tenant, digest));
  }
  if (may_read) return absl::OkStatus();
  return wire::Error(v1::ERROR_REASON_NOT_FOUND,
                     absl::StrCat("blob ", digest.ToString(), " is not here (upload it)"));
}

}  // namespace plait
