#include "client/client.h"

#include <map>

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "plait/v1/blob.grpc.pb.h"
#include "plait/v1/capability.grpc.pb.h"
#include "plait/v1/optimization.grpc.pb.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/grpc_status.h"

namespace plait {
namespace {

grpc::Status Unavailable() { return {grpc::StatusCode::UNAVAILABLE, "broken"}; }

// Keeps blobs in memory and breaks the first calls. One client calls at a time.
class FakeBlobs : public v1::BlobService::Service {
 public:
  grpc::Status FindMissingBlobs(grpc::ServerContext*, const v1::FindMissingBlobsRequest* request,
                                v1::FindMissingBlobsResponse* response) override {
    for (const v1::Digest& digest : request->digests()) {
      const std::string& bytes = blobs[digest.sha256_hex()];
      if (static_cast<int64_t>(bytes.size()) == digest.size_bytes()) continue;
      v1::MissingBlob& missing = *response->add_missing();
      *missing.mutable_digest() = digest;
      missing.set_offset_bytes(static_cast<int64_t>(bytes.size()));
    }
    return grpc::Status::OK;
  }

  grpc::Status UploadBlob(grpc::ServerContext*, grpc::ServerReader<v1::UploadBlobRequest>* reader,
                          v1::UploadBlobResponse*) override {
    v1::UploadBlobRequest chunk;
    std::string name;
    while (reader->Read(&chunk)) {
      if (name.empty()) {
        name = chunk.digest().sha256_hex();
        upload_offsets.push_back(chunk.offset_bytes());
      }
      blobs[name] += chunk.data();
      if (breaks > 0 && --breaks >= 0) return Unavailable();
    }
    return grpc::Status::OK;
  }

  grpc::Status DownloadBlob(grpc::ServerContext*, const v1::DownloadBlobRequest* request,
                            grpc::ServerWriter<v1::DownloadBlobResponse>* writer) override {
    const std::string& bytes = blobs[request->digest().sha256_hex()];
    // Half of what is left comes before the connection breaks.
    const auto offset = static_cast<size_t>(request->offset_bytes());
    const size_t count = breaks > 0 ? (bytes.size() - offset) / 2 : bytes.size() - offset;
    v1::DownloadBlobResponse chunk;
    chunk.set_offset_bytes(request->offset_bytes());
    chunk.set_data(bytes.substr(offset, count));
    writer->Write(chunk);
    if (breaks > 0 && --breaks >= 0) return Unavailable();
    return grpc::Status::OK;
  }

  int breaks = 0;
  std::map<std::string, std::string> blobs;
  std::vector<int64_t> upload_offsets;
};

class FakeOptimization : public v1::OptimizationService::Service {
 public:
  grpc::Status OptimizeModel(grpc::ServerContext*, const v1::OptimizeModelRequest* request,
                             v1::OptimizeModelResponse* response) override {
    request_ids.push_back(request->request_id());
    if (request_ids.size() == 1) return Unavailable();
    response->mutable_job()->set_id("job-1");
    return grpc::Status::OK;
  }

  // Sends two events a call, then breaks, until five were sent.
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    int64_t sequence = request->after_sequence();
    for (int i = 0; i < 2 && sequence < 5; ++i) {
      v1::WatchJobResponse response;
      response.mutable_event()->set_sequence(++sequence);
      writer->Write(response);
    }
    if (sequence < 5) return Unavailable();
    v1::WatchJobResponse response;
    response.mutable_job()->set_state(v1::JOB_STATE_SUCCEEDED);
    writer->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest*,
                      v1::GetJobResponse*) override {
    return wire::ToGrpcStatus(wire::Error(v1::ERROR_REASON_NOT_FOUND, "no such job"));
  }

  std::vector<std::string> request_ids;
};

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&blobs_);
    builder.RegisterService(&optimization_);
    server_ = builder.BuildAndStart();
    client_ = std::make_unique<Client>(server_->InProcessChannel({}), RetryPolicy(),
                                       [](absl::Duration) {});
  }
  ~ClientTest() override { server_->Shutdown(); }

  FakeBlobs blobs_;
  FakeOptimization optimization_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, ContinuesABrokenUploadWhereItEnded) {
  const std::string bytes(3 << 20, 'x');
  blobs_.breaks = 1;
  const auto digest = client_->Upload(bytes);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(blobs_.blobs[digest->sha256_hex()], bytes);
  EXPECT_THAT(blobs_.upload_offsets, testing::ElementsAre(0, 1 << 20));
}

TEST_F(ClientTest, ContinuesAnUploadForAsLongAsItGrows) {
  const std::string bytes(64 << 20, 'x');
  blobs_.breaks = 60;
  const auto digest = client_->Upload(bytes);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(blobs_.blobs[digest->sha256_hex()], bytes);
}

TEST_F(ClientTest, UploadsNothingThatTheServerHas) {
  const std::string bytes = "model";
  blobs_.blobs[DigestOf(bytes).sha256_hex] = bytes;
  EXPECT_TRUE(client_->Upload(bytes).ok());
  EXPECT_TRUE(blobs_.upload_offsets.empty());
}

TEST_F(ClientTest, ContinuesABrokenDownload) {
  const std::string bytes = "0123456789";
  blobs_.blobs[DigestOf(bytes).sha256_hex] = bytes;
  blobs_.breaks = 2;
  const auto read = client_->Download(wire::DigestToProto(DigestOf(bytes)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, bytes);
}

TEST_F(ClientTest, RefusesBytesThatAreNotTheBlob) {
  blobs_.blobs[DigestOf("0123456789").sha256_hex] = "012345678X";
  const auto read = client_->Download(wire::DigestToProto(DigestOf("0123456789")));
  EXPECT_EQ(wire::ReasonOf(read.status()), v1::ERROR_REASON_BLOB_CORRUPT);
}

TEST_F(ClientTest, RepeatsASubmitUnderTheSameRequestId) {
  const auto job = client_->Submit({});
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(optimization_.request_ids.size(), 2u);
  EXPECT_EQ(optimization_.request_ids[0], optimization_.request_ids[1]);
  EXPECT_EQ(optimization_.request_ids[0].size(), 32u);
}

TEST_F(ClientTest, SeesEveryEventOnceAcrossBrokenConnections) {
  std::vector<int64_t> sequences;
  const auto job = client_->Watch(
      "job-1", 0, [&](const v1::Event& event) { sequences.push_back(event.sequence()); });
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(sequences, testing::ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(ClientTest, KeepsTheReasonOfAnError) {
  EXPECT_EQ(wire::ReasonOf(client_->GetJob("job-1").status()), v1::ERROR_REASON_NOT_FOUND);
}

}  // namespace
}  // namespace plait
