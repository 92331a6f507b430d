#include <csignal>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "plait/internal/search_child.pb.h"
#include "server/search_child/protocol/descriptors.h"
#include "server/search_child/protocol/frame.h"

// Speaks the search child's protocol, well or badly: the job's `search` option, which the test sets
// to any text, says how.
namespace plait {
namespace {

void Send(const internal::ChildMessage& message) {
  if (!WriteAll(kChildSocket, *FrameOf(message)).ok()) std::exit(1);
}

void Ask(int64_t number) {
  internal::ChildMessage message;
  message.mutable_profile_request()->set_request_number(number);
  message.mutable_profile_request()->mutable_task()->add_kernels()->set_key("kernel");
  Send(message);
}

int Behave(const std::string& how) {
  internal::ChildMessage message;
  if (how == "crash") std::abort();
  if (how == "hang") pause();
  if (how == "garbage") {
    WriteAll(kChildSocket, std::string("\x03\x00\x00\x00\xff\xff\xff", 7)).IgnoreError();
    pause();
  }
  if (how == "oversize") {
    WriteAll(kChildSocket, "\xff\xff\xff\xff").IgnoreError();
    pause();
  }
  if (how == "twice") {
    Ask(1);
    Ask(1);
    pause();
  }
  if (how == "forged_event") {
    message.mutable_event()->set_type(v1::EVENT_TYPE_SUCCEEDED);
    Send(message);
    pause();
  }
  if (how == "memory") _exit(kMemoryLimitExit);
  if (how == "no_output") {
    message.mutable_result();
    Send(message);
    return 0;
  }
  if (how == "refuse") {
    message.mutable_failure()->set_reason(v1::ERROR_REASON_MODEL_REJECTED);
    message.mutable_failure()->set_message("conv3: no");
    Send(message);
    return 0;
  }
  if (write(kChildOutput, "optimized", 9) != 9) return 1;
  message.mutable_result()->mutable_report()->set_speedup(2);
  message.mutable_result()->mutable_report()->set_id("forged");
  Send(message);
  return 0;
}

int Main() {
  FrameReader reader;
  internal::ParentMessage message;
  if (!ReadFrame(kChildSocket, reader, &message).ok()) return 1;
  return Behave(message.start().options().search());
}

}  // namespace
}  // namespace plait

int main() { return plait::Main(); }
