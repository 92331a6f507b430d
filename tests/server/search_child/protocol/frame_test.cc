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
  FrameReader reader;
  std::vector<std::string> texts;
  for (const char byte : bytes) {
    reader.Append(absl::string_view(&byte, 1));
    internal::ChildMessage message;
    if (*reader.Next(&message)) texts.push_back(message.failure().message());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"one", "two"}));
}

TEST(FrameTest, RefusesALengthBeyondTheLimitBeforeTheBytesCome) {
  FrameReader reader;
  reader.Append("\xff\xff\xff\xff");
  internal::ChildMessage message;
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Next(&message).status()));
}

TEST(FrameTest, RefusesBytesThatAreNoMessage) {
  FrameReader reader;
  reader.Append(absl::string_view("\x03\x00\x00\x00\xff\xff\xff", 7));
  internal::ChildMessage message;
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Next(&message).status()));
}

}  // namespace
}  // namespace plait
