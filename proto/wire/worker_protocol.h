#pragma once

namespace plait::wire {

// What plait.worker.v1 means by its messages, see SynchronizeRequest.protocol_version. One more
// whenever a worker of before would misunderstand a task.
constexpr int kWorkerProtocolVersion = 2;

}  // namespace plait::wire
