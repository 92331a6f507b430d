#include "server/services/request_memory.h"

#include <atomic>
#include <optional>
#include <thread>

#include "plait/v1/blob.grpc.pb.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using testing::AllOf;

constexpr int64_t kRequestBytes = 1 << 20;

// In slices of 1,000 bytes, as a network brings it.
grpc::ByteBuffer InSlices(const std::string& bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < bytes.size(); begin += 1000) {
    slices.emplace_back(bytes.substr(begin, 1000));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  return InSlices(message.SerializeAsString());
}

v1::UploadBlobRequest ChunkOfBytes(int64_t bytes) {
  v1::UploadBlobRequest chunk;
  chunk.set_data(std::string(static_cast<size_t>(bytes), 'x'));
  return chunk;
}

// Empty digests.
std::string Bomb(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.append("\x0a\x00", 2);
  return bytes;
}

TEST(RequestMemoryTest, ParsesWhatMayBeParsed) {
  RequestMemory memory(kRequestBytes, kRequestBytes);
  v1::UploadBlobRequest request;
  // More than there is room for at a time: every share is given back.
  for (int i = 0; i < 3; ++i) {
    const auto share = memory.Parse(BytesOf(ChunkOfBytes(kRequestBytes - 1000)), request);
    ASSERT_TRUE(share.ok()) << share.status();
    EXPECT_EQ(request.data().size(), static_cast<size_t>(kRequestBytes) - 1000);
  }
}

TEST(RequestMemoryTest, AnEmptyRequestIsOne) {
  RequestMemory memory(kRequestBytes, kRequestBytes);
  v1::ListJobsRequest request;
  EXPECT_TRUE(memory.Parse(InSlices(""), request).ok());
  EXPECT_TRUE(memory.ParseSmall(InSlices(""), request).ok());
}

TEST(RequestMemoryTest, RefusesWhatWouldTakeTooMuchBeforeItIsParsed) {
  RequestMemory memory(kRequestBytes, kRequestBytes);
  v1::FindMissingBlobsRequest request;
  EXPECT_THAT(memory.Parse(InSlices(Bomb(20'000)), request).status(),
              AllOf(HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED), Says("1048576 bytes of memory")));
  EXPECT_EQ(request.digests_size(), 0);
}

TEST(RequestMemoryTest, RefusesBytesThatAreNoRequest) {
  RequestMemory memory(kRequestBytes, kRequestBytes);
  v1::GetJobRequest request;
  for (const std::string bytes : {"\x0a\x05x", "\x0a\x01\xff"}) {
    EXPECT_THAT(memory.Parse(InSlices(bytes), request).status(),
                HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  }
}

TEST(RequestMemoryTest, WhatIsKeptMustBeSmall) {
  RequestMemory memory(kRequestBytes, kRequestBytes);
  v1::UploadBlobRequest request;
  EXPECT_TRUE(memory.ParseSmall(BytesOf(ChunkOfBytes(1000)), request).ok());
  EXPECT_THAT(memory.ParseSmall(BytesOf(ChunkOfBytes(RequestMemory::kSmallBytes)), request),
              HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED));
}

TEST(RequestMemoryTest, LargeRequestsWaitForEachOtherAndSmallOnesForNobody) {
  RequestMemory memory(kRequestBytes, kRequestBytes);
  const grpc::ByteBuffer large = BytesOf(ChunkOfBytes(kRequestBytes / 2 + 1));
  v1::UploadBlobRequest first;
  std::optional<RequestMemory::Share> share(*memory.Parse(large, first));
  std::atomic<bool> is_over = false;
  std::thread second([&] {
    v1::UploadBlobRequest request;
    EXPECT_TRUE(memory.Parse(large, request).ok());
    is_over = true;
  });
  v1::UploadBlobRequest small;
  EXPECT_TRUE(memory.Parse(BytesOf(ChunkOfBytes(1000)), small).ok());
  EXPECT_FALSE(is_over);
  share.reset();
  second.join();
}

class WeighedServiceTest : public ServicesTest {};

TEST_F(WeighedServiceTest, RefusesAndCountsARequestThatTakesTooMuch) {
  v1::FindMissingBlobsRequest request;
  ASSERT_TRUE(request.ParseFromString(Bomb(100'000)));
  EXPECT_THAT(Call(&v1::BlobService::Stub::FindMissingBlobs, request).status(),
              HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED));
  EXPECT_EQ(Counted("FindMissingBlobs", "RESOURCE_EXHAUSTED"), 1);
}

TEST_F(WeighedServiceTest, RefusesAChunkThatTakesTooMuch) {
  v1::UploadBlobRequest chunk = ChunkOfBytes(1);
  *chunk.mutable_digest() = wire::DigestToProto(DigestOf("x"));
  auto* const unknown = chunk.GetReflection()->MutableUnknownFields(&chunk);
  for (int i = 0; i < 200'000; ++i) unknown->AddLengthDelimited(15);
  const auto context = ContextOf("alice");
  v1::BlobService::Stub stub(channel());
  v1::UploadBlobResponse response;
  const auto writer = stub.UploadBlob(context.get(), &response);
  writer->Write(chunk);
  writer->WritesDone();
  EXPECT_THAT(wire::FromGrpcStatus(writer->Finish()), HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED));
}

TEST_F(WeighedServiceTest, RefusesAWatcherWhoseRequestIsNotSmall) {
  v1::WatchJobRequest request;
  request.set_job_id(std::string(RequestMemory::kSmallBytes, 'j'));
  const auto context = ContextOf("alice");
  v1::OptimizationService::Stub stub(channel());
  const auto reader = stub.WatchJob(context.get(), request);
  v1::WatchJobResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_THAT(wire::FromGrpcStatus(reader->Finish()), HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED));
}

}  // namespace
}  // namespace plait
