#include "server/search_child/protocol/frame.h"

#include <gtest/gtest.h>

#include "plait/internal/search_child.pb.h"

namespace plait {
namespace {

internal::ChildMessage Failure(const std::string& text) {
  internal::ChildMessage message;
  message.mutable_failure()->set_message(text);
  return message;
}

TEST(FrameTest, GivesMessagesBackHoweverTheBytesArrive) {
  const std::string bytes = *FrameOf(Failure("one")) + *FrameOf(Failure("two"));
  FrameReader reader(kFrameBytesMax);
  std::vector<std::string> texts;
  for (const char byte : bytes) {
    reader.Append(absl::string_view(&byte, 1));
    internal::ChildMessage message;
    if (*reader.Next(&message)) texts.push_back(message.failure().message());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"one", "two"}));
}

TEST(FrameTest, RefusesALengthBeyondTheLimitBeforeTheBytesCome) {
  FrameReader reader(kFrameBytesMax);
  reader.Append("\xff\xff\xff\xff");
  internal::ChildMessage message;
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Next(&message).status()));
}

TEST(FrameTest, RefusesBytesThatAreNoMessage) {
  FrameReader reader(kFrameBytesMax);
  reader.Append(absl::string_view("\x03\x00\x00\x00\xff\xff\xff", 7));
  internal::ChildMessage message;
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Next(&message).status()));
}

TEST(FrameTest, RefusesAMessageThatGrowsWhenItIsParsed) {
  // Candidates of a task, with nothing in them: two bytes each.
  internal::ChildMessage message;
  auto* const task = message.mutable_measure_request()->mutable_task();
  for (int i = 0; i < 100'000; ++i) task->add_candidates();
  const std::string frame = *FrameOf(message);
  EXPECT_LT(frame.size(), 300'000);
  FrameReader reader(8 << 20);
  reader.Append(frame);
  internal::ChildMessage parsed;
  const absl::Status status = reader.Next(&parsed).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_FALSE(parsed.has_measure_request());
}

}  // namespace
}  // namespace plait
