#pragma once

namespace plait::wire {

// Lets this process end without waiting for gRPC. When the last server or channel is destroyed,
// gRPC joins its threads, and one of them may sleep for up to 10 s: the one that has watched a
// socket whose buffer was full once. After this call gRPC's threads live until the process ends.
// Call it once, before the first server or channel. Thread-safe.
void KeepGrpcUntilExit();

}  // namespace plait::wire
