#include <csignal>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "plait/internal/search_child.pb.h"
#include "proto/wire/digest.h"
#include "proto/wire/measurement.h"
#include "server/search_child/protocol/descriptors.h"
#include "server/search_child/protocol/frame.h"
#include "tests/server/jobs/asked_kernel.h"

// Speaks the search child's protocol, well or badly: the job's `search` option, which the test sets
// to any text, says how.
namespace plait {
namespace {

void Send(const internal::ChildMessage& message) {
  if (!WriteAll(kChildSocket, *FrameOf(message)).ok()) std::exit(1);
}

void Ask(int64_t number, const worker::v1::KernelRequest& kernel) {
  internal::ChildMessage message;
  message.mutable_profile_request()->set_request_number(number);
  *message.mutable_profile_request()->mutable_task()->add_kernels() = kernel;
  Send(message);
}

void Ask(int64_t number) { Ask(number, wire::KernelRequestToProto(AskedKernel())); }

// The next thing that the daemon says; ends the process when it says nothing any more.
internal::ParentMessage Listen() {
  static FrameReader reader(kParentMessageParsedBytesMax);
  internal::ParentMessage message;
  if (!ReadFrame(kChildSocket, reader, &message).ok()) std::exit(1);
  return message;
}

void WriteWeights(const std::string& table) {
  if (write(kChildWeights, table.data(), table.size()) < 0) std::exit(1);
  internal::ChildMessage message;
  message.mutable_weights_written();
  Send(message);
}

int Refuse(const std::string& why, v1::ErrorReason reason = v1::ERROR_REASON_MODEL_REJECTED) {
  internal::ChildMessage message;
  message.mutable_failure()->set_reason(reason);
  message.mutable_failure()->set_message(why);
  Send(message);
  return 0;
}

// `limits` is what the daemon has set for a search.
int Behave(const std::string& how, const internal::Start& start, const std::string& limits) {
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
  if (how == "ask_for_much") {
    // Little to send and much to hold: what counts is the memory of the daemon.
    for (int i = 0; i < 900'000; ++i) {
      message.mutable_measure_request()->mutable_task()->add_candidates();
    }
    for (int number = 1; number <= 8; ++number) {
      message.mutable_measure_request()->set_request_number(number);
      Send(message);
    }
    return Refuse("the daemon has taken it all");
  }
  if (how == "wrong_key") {
    worker::v1::KernelRequest kernel = wire::KernelRequestToProto(AskedKernel());
    kernel.set_family("view");
    Ask(1, kernel);
    pause();
  }
  if (how == "foreign_input" || how == "own_input") {
    message.mutable_measure_request()->set_request_number(1);
    v1::InputSet& set = *message.mutable_measure_request()->mutable_task()->add_input_sets();
    *set.add_values()->mutable_blob() =
        wire::DigestToProto(DigestOf(how == "own_input" ? "an input" : "a secret"));
    Send(message);
    const internal::MeasureReply reply = Listen().measure_reply();
    return Refuse(reply.result().error().message());
  }
  if (how == "ask_runtime") {
    internal::MeasureModelsRequest& request = *message.mutable_measure_models_request();
    request.set_request_number(1);
    request.set_runtime("fast");
    *request.mutable_task()->add_models() = wire::DigestToProto(DigestOf("model"));
    Send(message);
    const internal::MeasureModelsReply reply = Listen().measure_models_reply();
    const bool is_answer = reply.result().has_measure_models();
    return Refuse(is_answer ? reply.result().measure_models().options()
                            : reply.result().error().message());
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
    return Refuse("conv3: no");
  }
  if (how == "disk_full") {
    return Refuse("no space left on device", v1::ERROR_REASON_STORAGE_UNAVAILABLE);
  }
  if (how == "tell_limits") return Refuse(limits);
  if (how == "tell_task_time") return Refuse(absl::StrCat(start.task_seconds_max()));
  if (how == "tell_cores") return Refuse(absl::StrCat(start.device().cores()));
  if (how == "tell_profiles") return Refuse(absl::StrCat(start.profiles_size()));
  if (how == "tell_budget") return Refuse(absl::StrCat(start.options().budget_seconds()));
  if (how == "tell_stopped_time" || how == "ask_and_tell_stopped_time") {
    if (how == "ask_and_tell_stopped_time") {
      Ask(1);
      Listen();
    }
    message.mutable_stopped_time_request();
    Send(message);
    return Refuse(absl::StrCat(Listen().stopped_time_reply().stopped_us() / 1'000'000));
  }
  if (how == "ask_in_verification") {
    message.mutable_event()->set_type(v1::EVENT_TYPE_PHASE);
    message.mutable_event()->set_text("verify");
    message.mutable_event()->set_fraction(0.7);
    message.mutable_event()->set_seconds_left(20);
    Send(message);
  }
  if (how == "ask" || how == "ask_in_verification") {
    Ask(1);
    const internal::ProfileReply reply = Listen().profile_reply();
    const bool is_answer = reply.request_number() == 1 && reply.result().has_profile();
    return Refuse(is_answer ? reply.result().profile().profiles(0).key()
                            : reply.result().error().message());
  }
  if (how == "measure" || how == "measure_with_weights") {
    if (how == "measure_with_weights") WriteWeights("a table");
    message.mutable_measure_request()->set_request_number(1);
    message.mutable_measure_request()->mutable_task()->add_candidates()->set_id("c");
    Send(message);
    return Refuse(Listen().measure_reply().result().error().message());
  }
  if (how == "write_no_weights") {
    WriteWeights("");
    pause();
  }
  if (how == "write_weights_twice") {
    WriteWeights("a table");
    WriteWeights("another");
    pause();
  }
  if (how == "find_something") {
    for (const v1::EventType type : {v1::EVENT_TYPE_INCUMBENT, v1::EVENT_TYPE_MEASURED}) {
      message.mutable_event()->set_type(type);
      message.mutable_event()->set_speedup(type == v1::EVENT_TYPE_INCUMBENT ? 1.5 : 1.25);
      Send(message);
    }
    return Refuse("done");
  }
  if (how == "exaggerate") {
    message.mutable_event()->set_type(v1::EVENT_TYPE_PHASE);
    message.mutable_event()->set_text("search");
    message.mutable_event()->set_fraction(7);
    message.mutable_event()->set_tenant("forged");
    Send(message);
    return Refuse("done");
  }
  if (how == "end_at_the_deadline" && !Listen().has_deadline()) return 1;
  if (write(kChildOutput, "optimized", 9) != 9) return 1;
  message.mutable_result()->mutable_report()->set_speedup(2);
  message.mutable_result()->mutable_report()->set_id("forged");
  Send(message);
  return 0;
}

int Main(const std::string& limits) {
  const internal::Start start = Listen().start();
  return Behave(start.options().search(), start, limits);
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Main(argc == 3 ? argv[2] : ""); }
