#include "proto/wire/parsed_bytes.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "plait/internal/search_child.pb.h"
#include "plait/v1/blob.pb.h"
#include "plait/v1/optimization.pb.h"
#include "plait/v1/profile.pb.h"
#include "plait/worker/v1/worker.pb.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int64_t kNoLimit = int64_t{1} << 40;

absl::StatusOr<int64_t> Weigh(const Message& type, const std::string& bytes,
                              int64_t bytes_max = kNoLimit) {
  const int size = static_cast<int>(bytes.size());
  google::protobuf::io::ArrayInputStream stream(bytes.data(), size);
  return ParsedBytes(*type.GetDescriptor(), stream, size, bytes_max);
}

// Sets every field of a message and of those in it, and adds `entries` to its lists.
void Fill(Message* message, int entries, int depth = 0) {
  const Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->field(i);
    for (int j = 0; j < (field->is_repeated() ? entries : 1); ++j) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (depth > 4) continue;
        Fill(field->is_repeated() ? reflection.AddMessage(message, field)
                                  : reflection.MutableMessage(message, field),
             entries, depth + 1);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        const std::string text = std::string(17, 'a') + std::to_string(j);
        field->is_repeated() ? reflection.AddString(message, field, text)
                             : reflection.SetString(message, field, text);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 && field->is_repeated()) {
        reflection.AddInt64(message, field, 1);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE && field->is_repeated()) {
        reflection.AddDouble(message, field, 1);
      }
    }
  }
}

template <typename Type>
class ParsedBytesTest : public testing::Test {};

using Types =
    testing::Types<v1::FindMissingBlobsRequest, v1::OptimizeModelRequest, v1::ImportProfilesRequest,
                   worker::v1::SynchronizeRequest, internal::ChildMessage, worker::v1::MeasureTask,
                   worker::v1::ProfileTask, internal::Result, v1::GetJobRequest>;
TYPED_TEST_SUITE(ParsedBytesTest, Types);

TYPED_TEST(ParsedBytesTest, IsNeverLessThanTheMessageTakes) {
  for (const int entries : {0, 1, 2, 5}) {
    TypeParam message;
    Fill(&message, entries);
    const std::string bytes = message.SerializeAsString();
    TypeParam parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    EXPECT_GE(*Weigh(parsed, bytes), static_cast<int64_t>(parsed.SpaceUsedLong())) << entries;
  }
}

TYPED_TEST(ParsedBytesTest, CountsEveryEntryOfAListAndWhatIsUnknown) {
  // An empty entry of every field, and numbers, texts and messages that no message has.
  std::vector<std::string> entries = {std::string("\xfa\x7f\x00", 3), std::string("\xf8\x7f\x01")};
  for (int number = 1; number < 16; ++number) {
    entries.push_back({static_cast<char>(number << 3 | 2), 0});
    entries.push_back({static_cast<char>(number << 3), 1});
  }
  for (const std::string& entry : entries) {
    std::string bytes;
    for (int i = 0; i < 10'000; ++i) bytes += entry;
    TypeParam parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    EXPECT_GE(*Weigh(parsed, bytes), static_cast<int64_t>(parsed.SpaceUsedLong()))
        << testing::PrintToString(entry);
  }
}

TYPED_TEST(ParsedBytesTest, RefusesAtTheLimit) {
  TypeParam message;
  Fill(&message, 3);
  const std::string bytes = message.SerializeAsString();
  const int64_t weight = *Weigh(message, bytes);
  EXPECT_TRUE(Weigh(message, bytes, weight).ok());
  const absl::Status status = Weigh(message, bytes, weight - 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_LIMIT_EXCEEDED);
}

// A limit of eight times the bytes of a message stops none of these.
TEST(ParsedBytesOfOrdinaryMessagesTest, AreAFewTimesTheirBytes) {
  v1::ImportProfilesRequest import;
  for (int i = 0; i < kProfilesPerImportMax; ++i) {
    v1::StoredProfile* const stored = import.add_profiles();
    stored->set_key(std::string(200, 'k'));
    stored->set_device_fingerprint(std::string(40, 'd'));
    stored->mutable_measure_time()->set_seconds(1'700'000'000);
    v1::Profile* const profile = stored->mutable_profile();
    profile->set_latency_us_median(1.5);
    profile->set_latency_us_p10(1.5);
    profile->set_latency_us_mad(0.1);
    profile->mutable_yardsticks()->set_drift(0.1);
  }
  const std::string bytes = import.SerializeAsString();
  EXPECT_LT(*Weigh(import, bytes), 6 * static_cast<int64_t>(bytes.size()));
  v1::UploadBlobRequest chunk;
  chunk.set_data(std::string(1 << 20, 'x'));
  EXPECT_LT(*Weigh(chunk, chunk.SerializeAsString()), (1 << 20) + 1000);
}

}  // namespace
}  // namespace plait::wire
