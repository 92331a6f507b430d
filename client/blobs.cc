#include <algorithm>

#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "client/stubs.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/grpc_status.h"

namespace plait {

absl::StatusOr<v1::Digest> Client::Upload(absl::string_view bytes) const {
  const v1::Digest digest = wire::DigestToProto(DigestOf(bytes));
  Retrier retrier = MakeRetrier();
  int64_t confirmed_bytes = 0;
  PLAIT_RETURN_IF_ERROR(retrier.Run([&] {
    const int64_t confirmed_before = confirmed_bytes;
    absl::Status status = UploadOnce(digest, bytes, confirmed_bytes);
    if (confirmed_bytes > confirmed_before) retrier.Progress();
    return status;
  }));
  return digest;
}

// Without a deadline: an upload takes as long as the line needs, and a broken one is noticed by
// gRPC.
absl::Status Client::UploadOnce(const v1::Digest& digest, absl::string_view bytes,
                                int64_t& confirmed_bytes) const {
  v1::FindMissingBlobsRequest question;
  *question.add_digests() = digest;
  v1::FindMissingBlobsResponse missing;
  grpc::ClientContext find_context;
  PLAIT_RETURN_IF_ERROR(
      wire::FromGrpcStatus(stubs_->blobs->FindMissingBlobs(&find_context, question, &missing)));
  if (missing.missing().empty()) return absl::OkStatus();
  // The server's word for it: it may have bytes of an upload that another client began.
  int64_t offset = missing.missing(0).offset_bytes();
  if (offset < 0 || offset > static_cast<int64_t>(bytes.size())) {
    return absl::InternalError("the server asks for bytes outside of the model");
  }
  confirmed_bytes = offset;
  grpc::ClientContext context;
  v1::UploadBlobResponse response;
  const auto writer = stubs_->blobs->UploadBlob(&context, &response);
  bool first = true;
  // A blob of no bytes is one empty chunk.
  while (first || offset < static_cast<int64_t>(bytes.size())) {
    v1::UploadBlobRequest chunk;
    if (first) *chunk.mutable_digest() = digest;
    first = false;
    const absl::string_view data = bytes.substr(offset, kBlobChunkBytesMax);
    chunk.set_offset_bytes(offset);
    chunk.set_data(data.data(), data.size());
    // The stream has ended; Finish says why.
    if (!writer->Write(chunk)) break;
    offset += static_cast<int64_t>(data.size());
  }
  writer->WritesDone();
  absl::Status status = wire::FromGrpcStatus(writer->Finish());
  // Another upload of the same bytes runs, or the connection broke between question and upload: ask
  // again where to continue. Of bytes that an earlier upload left and that turn out wrong the
  // server has dropped all, and they begin anew.
  const bool was_continued = missing.missing(0).offset_bytes() > 0;
  if (absl::IsOutOfRange(status) || (absl::IsDataLoss(status) && was_continued)) {
    status = absl::UnavailableError(status.message());
  }
  return status;
}

absl::StatusOr<std::string> Client::Download(const v1::Digest& digest) const {
  PLAIT_ASSIGN_OR_RETURN(const Digest wanted, wire::DigestFromProto(digest));
  // Before memory is taken for it: the size comes from a server.
  if (wanted.size_bytes > kModelBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a blob of ", wanted.size_bytes, " bytes is larger than ", kModelBytesMax));
  }
  std::string bytes;
  // At once: growing by halves would copy a gigabyte again and again. Not more than a model has,
  // whatever the server says.
  bytes.reserve(static_cast<size_t>(std::min(wanted.size_bytes, kModelBytesMax)));
  Retrier retrier = MakeRetrier();
  const absl::Status status = retrier.Run([&]() -> absl::Status {
    grpc::ClientContext context;
    v1::DownloadBlobRequest request;
    *request.mutable_digest() = digest;
    request.set_offset_bytes(static_cast<int64_t>(bytes.size()));
    const auto reader = stubs_->blobs->DownloadBlob(&context, request);
    v1::DownloadBlobResponse chunk;
    while (reader->Read(&chunk)) {
      const auto end = static_cast<int64_t>(bytes.size() + chunk.data().size());
      if (chunk.offset_bytes() != static_cast<int64_t>(bytes.size()) || end > wanted.size_bytes) {
        context.TryCancel();
        return absl::DataLossError("the server sent other bytes than were asked for");
      }
      bytes += chunk.data();
      retrier.Progress();
    }
    return wire::FromGrpcStatus(reader->Finish());
  });
  PLAIT_RETURN_IF_ERROR(status);
  // Over all bytes, whatever attempts they came in.
  if (DigestOf(bytes) != wanted) {
    return wire::Error(
        v1::ERROR_REASON_BLOB_CORRUPT,
        absl::StrCat("the bytes that arrived are not blob ", wanted.sha256_hex, " (try again)"));
  }
  return bytes;
}

}  // namespace plait
