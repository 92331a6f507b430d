#include "base/limits.h"
#include "plait/v1/blob.grpc.pb.h"
#include "server/services/method.h"
#include "storage/blob_bytes.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using BlobStub = v1::BlobService::Stub;

// A chunk of an upload.
struct SentChunk {
  int64_t offset = 0;
  std::string data;
};

class BlobServiceTest : public ServicesTest {
 protected:
  absl::StatusOr<v1::FindMissingBlobsResponse> FindMissing(const std::vector<v1::Digest>& digests,
                                                           absl::string_view tenant = "alice") {
    v1::FindMissingBlobsRequest request;
    for (const v1::Digest& digest : digests) *request.add_digests() = digest;
    return Call(&BlobStub::FindMissingBlobs, request, tenant);
  }

  absl::Status Upload(const v1::Digest& digest, const std::vector<SentChunk>& chunks,
                      absl::string_view tenant = "alice") {
    const auto context = ContextOf(tenant);
    BlobStub stub(channel());
    v1::UploadBlobResponse response;
    const auto writer = stub.UploadBlob(context.get(), &response);
    for (const SentChunk& chunk : chunks) {
      v1::UploadBlobRequest request;
      *request.mutable_digest() = digest;
      request.set_offset_bytes(chunk.offset);
      request.set_data(chunk.data);
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    const absl::Status status = wire::FromGrpcStatus(writer->Finish());
    if (status.ok()) {
      EXPECT_EQ(response.digest().sha256_hex(), digest.sha256_hex());
    }
    return status;
  }

  absl::StatusOr<std::string> Download(const v1::Digest& digest, int64_t offset = 0,
                                       absl::string_view tenant = "alice") {
    return DownloadBy(channel(), digest, offset, tenant);
  }

  absl::StatusOr<std::string> DownloadAsWorker(const v1::Digest& digest,
                                               const std::string& worker_id = "w1",
                                               absl::string_view tenant = "") {
    return DownloadBy(worker_channel(), digest, 0, tenant, worker_id);
  }

  static v1::Digest ProtoOf(absl::string_view bytes) {
    return wire::DigestToProto(DigestOf(bytes));
  }

  // The worker is given a task that names this model and this table of weights.
  void GiveTask(const v1::Digest& model, const v1::Digest& weights = {},
                const std::string& worker_id = "w1") {
    worker::v1::Task task;
    *task.mutable_model() = model;
    *task.mutable_weights() = weights;
    GiveTask(task, worker_id);
  }

  void GiveTask(const worker::v1::Task& task, const std::string& worker_id) {
    v1::Device device;
    device.set_id("cpu");
    device.set_fingerprint("cpu-fingerprint");
    pool_.Submit(device, task, [](const worker::v1::TaskResult&) {});
    ConnectWorker(worker_id, "cpu");
  }

  // Streams that wait end after their time, but not before. The server may take a moment to begin
  // its wait, and another to end the stream.
  void ExpectThatTheStreamEnds() {
    const auto await = [&](int64_t open, absl::Duration step) {
      for (int i = 0; i < 2000 && streams_.open() != open; ++i) {
        clock_.Advance(step);
        stream_deadlines_.CheckTimes();
        absl::SleepFor(absl::Milliseconds(1));
      }
      EXPECT_EQ(streams_.open(), open);
    };
    await(1, absl::ZeroDuration());
    clock_.Advance(kStreamWaitMax);
    stream_deadlines_.CheckTimes();
    EXPECT_EQ(streams_.open(), 1);
    await(0, kStreamWaitMax / 2);
  }

 private:
  static absl::StatusOr<std::string> DownloadBy(const std::shared_ptr<grpc::Channel>& channel,
                                                const v1::Digest& digest, int64_t offset,
                                                absl::string_view tenant,
                                                const std::string& worker_id = "") {
    v1::DownloadBlobRequest request;
    *request.mutable_digest() = digest;
    request.set_offset_bytes(offset);
    const auto context = ContextOf(tenant);
    if (!worker_id.empty()) context->AddMetadata("plait-worker-id", worker_id);
    BlobStub stub(channel);
    const auto reader = stub.DownloadBlob(context.get(), request);
    std::string bytes;
    v1::DownloadBlobResponse chunk;
    while (reader->Read(&chunk)) {
      EXPECT_EQ(chunk.offset_bytes(), offset + static_cast<int64_t>(bytes.size()));
      EXPECT_LE(static_cast<int64_t>(chunk.data().size()), kBlobChunkBytesMax);
      bytes += chunk.data();
    }
    const absl::Status status = wire::FromGrpcStatus(reader->Finish());
    if (!status.ok()) return status;
    return bytes;
  }
};

TEST_F(BlobServiceTest, TakesAndReturnsABlob) {
  ASSERT_TRUE(Upload(ProtoOf("0123456789"), {{0, "01234"}, {5, "56789"}}).ok());
  EXPECT_EQ(*Download(ProtoOf("0123456789")), "0123456789");
  EXPECT_EQ(*Download(ProtoOf("0123456789"), 8), "89");
  EXPECT_EQ(*Download(ProtoOf("0123456789"), 10), "");
  EXPECT_EQ(FindMissing({ProtoOf("0123456789")})->missing_size(), 0);
}

TEST_F(BlobServiceTest, TakesABlobWithoutBytes) {
  ASSERT_TRUE(Upload(ProtoOf(""), {{0, ""}}).ok());
  EXPECT_EQ(*Download(ProtoOf("")), "");
}

TEST_F(BlobServiceTest, SendsALargeBlobInChunks) {
  const std::string bytes(2 * kBlobChunkBytesMax + 5, 'x');
  EXPECT_EQ(*Download(Give(bytes)), bytes);
}

TEST_F(BlobServiceTest, ADownloadIsAUse) {
  const std::string bytes(8 * kBlobChunkBytesMax, 'x');
  v1::DownloadBlobRequest request;
  *request.mutable_digest() = Give(bytes);
  const auto used_at = [&] { return stores_.blobs->List()->at(0).used_at; };
  clock_.Advance(absl::Hours(2));
  const absl::Time begun = clock_.Now();
  const auto context = ContextOf("alice");
  BlobStub stub(channel());
  const auto reader = stub.DownloadBlob(context.get(), request);
  v1::DownloadBlobResponse chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(used_at(), begun);
  // The server is some chunks ahead at most, not at the end.
  clock_.Advance(absl::Hours(1));
  while (reader->Read(&chunk)) continue;
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(used_at(), clock_.Now());
}

TEST_F(BlobServiceTest, ContinuesABrokenUpload) {
  ASSERT_TRUE(stores_.blobs->Append({"alice", DigestOf("0123456789")}, 0, "0123").ok());
  const auto missing = FindMissing({ProtoOf("0123456789"), ProtoOf("unknown")});
  ASSERT_TRUE(missing.ok()) << missing.status();
  ASSERT_EQ(missing->missing_size(), 2);
  EXPECT_EQ(missing->missing(0).offset_bytes(), 4);
  EXPECT_EQ(missing->missing(1).offset_bytes(), 0);
  ASSERT_TRUE(Upload(ProtoOf("0123456789"), {{4, "456789"}}).ok());
  EXPECT_EQ(*Download(ProtoOf("0123456789")), "0123456789");
}

TEST_F(BlobServiceTest, RefusesAWrongOffset) {
  EXPECT_EQ(Upload(ProtoOf("0123456789"), {{4, "456789"}}).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(BlobServiceTest, RefusesMalformedUploads) {
  EXPECT_THAT(Upload(ProtoOf("x"), {}), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  v1::Digest malformed = ProtoOf("x");
  malformed.set_sha256_hex("xyz");
  EXPECT_THAT(Upload(malformed, {{0, "x"}}), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_EQ(Upload(ProtoOf("x"), {{0, "xy"}}).code(), absl::StatusCode::kInvalidArgument);
  const std::string large(kBlobChunkBytesMax + 1, 'x');
  EXPECT_THAT(Upload(ProtoOf(large), {{0, large}}), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
}

TEST_F(BlobServiceTest, RefusesABlobThatIsTooLarge) {
  v1::Digest digest = ProtoOf("x");
  digest.set_size_bytes(kModelBytesMax + 1);
  EXPECT_THAT(Upload(digest, {{0, "x"}}), HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED));
}

TEST_F(BlobServiceTest, RefusesBytesThatAreNotThoseAnnounced) {
  EXPECT_THAT(Upload(ProtoOf("right"), {{0, "wrong"}}), HasReason(v1::ERROR_REASON_BLOB_CORRUPT));
  EXPECT_TRUE(Upload(ProtoOf("right"), {{0, "right"}}).ok());
}

TEST_F(BlobServiceTest, KnowingADigestIsNotHavingTheBytes) {
  const v1::Digest digest = Give("alice's model", "alice");
  EXPECT_THAT(Download(digest, 0, "bob").status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  // To bob it looks as if nobody had uploaded it.
  ASSERT_EQ(FindMissing({digest}, "bob")->missing_size(), 1);
  EXPECT_EQ(FindMissing({digest}, "bob")->missing(0).offset_bytes(), 0);
  EXPECT_THAT(Upload(digest, {{0, "guessed bytes"}}, "bob"),
              HasReason(v1::ERROR_REASON_BLOB_CORRUPT));
  EXPECT_FALSE(Upload(digest, {{0, ""}}, "bob").ok());
  EXPECT_THAT(Download(digest, 0, "bob").status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  EXPECT_TRUE(Upload(digest, {{0, "alice's "}, {8, "model"}}, "bob").ok());
  EXPECT_EQ(*Download(digest, 0, "bob"), "alice's model");
}

// The blob becomes complete while a stream of another tenant is open that has sent nothing of it.
TEST_F(BlobServiceTest, SomebodyElsesUploadIsNoProof) {
  const v1::Digest digest = ProtoOf("alice's model");
  const auto context = ContextOf("bob");
  BlobStub stub(channel());
  v1::UploadBlobResponse response;
  const auto writer = stub.UploadBlob(context.get(), &response);
  v1::UploadBlobRequest nothing;
  *nothing.mutable_digest() = digest;
  ASSERT_TRUE(writer->Write(nothing));
  ASSERT_TRUE(Upload(digest, {{0, "alice's model"}}, "alice").ok());
  writer->WritesDone();
  EXPECT_FALSE(writer->Finish().ok());
  EXPECT_THAT(Download(digest, 0, "bob").status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
}

// How far another tenant has come is nobody's business, and its garbage nobody's trouble.
TEST_F(BlobServiceTest, TenantsDoNotMeetInAnUpload) {
  const v1::Digest digest = ProtoOf("right");
  ASSERT_TRUE(stores_.blobs->Append({"bob", DigestOf("right")}, 0, "wron").ok());
  EXPECT_EQ(FindMissing({digest}, "alice")->missing(0).offset_bytes(), 0);
  EXPECT_TRUE(Upload(digest, {{0, "right"}}, "alice").ok());
}

TEST_F(BlobServiceTest, AWorkerReadsTheModelOfItsTask) {
  const v1::Digest model = Give("a model", "alice");
  GiveTask(model);
  EXPECT_EQ(*DownloadAsWorker(model), "a model");
}

TEST_F(BlobServiceTest, AWorkerReadsTheInputsOfItsTask) {
  const v1::Digest input = Give("an input", "alice");
  EXPECT_THAT(DownloadAsWorker(input).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  worker::v1::Task task;
  *task.mutable_model() = Give("a model", "alice");
  *task.mutable_measure()->add_input_sets()->add_values()->mutable_blob() = input;
  GiveTask(task, "w1");
  EXPECT_EQ(*DownloadAsWorker(input), "an input");
}

// It may be a worker of another host and another device, which one tenant's jobs never reach.
TEST_F(BlobServiceTest, AWorkerReadsNothingOfTheTasksOfOthers) {
  const v1::Digest first = Give("a model", "alice");
  const v1::Digest second = Give("another model", "bob");
  GiveTask(first, {}, "w1");
  GiveTask(second, {}, "w2");
  EXPECT_EQ(*DownloadAsWorker(second, "w2"), "another model");
  for (const char* worker_id : {"w2", "w3", ""}) {
    EXPECT_THAT(DownloadAsWorker(first, worker_id).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  }
}

// The table is nobody's: it was stored for the task, and granted to no tenant.
TEST_F(BlobServiceTest, WorkersAloneReadTheTablesOfWeightsOfTasks) {
  const v1::Digest weights = wire::DigestToProto(*PutBlob(*stores_.blobs, "a table"));
  EXPECT_THAT(DownloadAsWorker(weights).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  GiveTask(Give("a model", "alice"), weights);
  EXPECT_EQ(*DownloadAsWorker(weights), "a table");
  EXPECT_THAT(Download(weights, 0, "alice").status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
}

TEST_F(BlobServiceTest, WorkersReadNothingThatNoTaskNames) {
  GiveTask(Give("a model", "alice"));
  const v1::Digest other = Give("another model", "alice");
  // Also not by naming its tenant.
  for (const char* tenant : {"", "alice", "plait-worker"}) {
    EXPECT_THAT(DownloadAsWorker(other, "w1", tenant).status(),
                HasReason(v1::ERROR_REASON_NOT_FOUND));
  }
}

// They are nobody's blobs yet, which no limit of stored bytes could evict.
TEST_F(BlobServiceTest, RefusesUploadsBeyondTheirShareOfTheStore) {
  const std::string bytes(kUploadsBytesMax - 3, 'x');
  const BlobUpload unfinished = {"bob", {std::string(64, 'a'), kUploadsBytesMax}};
  ASSERT_TRUE(stores_.blobs->Append(unfinished, 0, bytes).ok());
  EXPECT_THAT(Upload(ProtoOf("0123"), {{0, "0123"}}), HasReason(v1::ERROR_REASON_QUOTA_EXCEEDED));
  EXPECT_TRUE(Upload(ProtoOf("012"), {{0, "012"}}).ok());
  // What this daemon's jobs make is no upload of anybody's.
  EXPECT_TRUE(PutBlob(*stores_.blobs, "a result").ok());
  ASSERT_TRUE(stores_.blobs->DropUploads(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(Upload(ProtoOf("0123"), {{0, "0123"}}).ok());
}

TEST_F(BlobServiceTest, RefusesMoreUploadsThanMayBeUnfinished) {
  for (int number = 0; number < 10'000; ++number) {
    const BlobUpload upload = {"bob", DigestOf(absl::StrCat("upload ", number))};
    ASSERT_TRUE(stores_.blobs->Append(upload, 0, "u").ok());
  }
  EXPECT_THAT(Upload(ProtoOf("0123"), {{0, "0123"}}), HasReason(v1::ERROR_REASON_QUOTA_EXCEEDED));
  // One of those goes on.
  EXPECT_TRUE(Upload(ProtoOf("upload 7"), {{1, "pload 7"}}, "bob").ok());
  EXPECT_TRUE(Upload(ProtoOf("0123"), {{0, "0123"}}).ok());
}

// It answers pings, and would hold a stream for ever.
TEST_F(BlobServiceTest, EndsAnUploadThatSendsNothing) {
  const auto context = ContextOf("alice");
  BlobStub stub(channel());
  v1::UploadBlobResponse response;
  const auto writer = stub.UploadBlob(context.get(), &response);
  v1::UploadBlobRequest request;
  *request.mutable_digest() = ProtoOf("0123456789");
  request.set_data("0123");
  ASSERT_TRUE(writer->Write(request));
  ExpectThatTheStreamEnds();
  context->TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // What came is kept.
  EXPECT_EQ(*stores_.blobs->BytesUploaded({"alice", DigestOf("0123456789")}), 4);
}

TEST_F(BlobServiceTest, EndsADownloadThatNobodyReads) {
  v1::DownloadBlobRequest request;
  *request.mutable_digest() = Give(std::string(8 * kBlobChunkBytesMax, 'x'));
  const auto context = ContextOf("alice");
  BlobStub stub(channel());
  const auto reader = stub.DownloadBlob(context.get(), request);
  ExpectThatTheStreamEnds();
  context->TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(BlobServiceTest, RefusesReadingWhatIsNotThere) {
  EXPECT_THAT(Download(ProtoOf("unknown")).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  EXPECT_THAT(DownloadAsWorker(ProtoOf("unknown")).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  v1::Digest malformed;
  EXPECT_THAT(Download(malformed).status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  const v1::Digest digest = Give("12345");
  EXPECT_EQ(Download(digest, 6).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Download(digest, -1).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(BlobServiceTest, AsksForAThousandDigestsAtMost) {
  const std::vector<v1::Digest> digests(kDigestsPerCallMax, ProtoOf("x"));
  EXPECT_EQ(FindMissing(digests)->missing_size(), kDigestsPerCallMax);
  std::vector<v1::Digest> more = digests;
  more.push_back(ProtoOf("y"));
  EXPECT_THAT(FindMissing(more).status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(FindMissing({v1::Digest()}).status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
}

}  // namespace
}  // namespace plait
