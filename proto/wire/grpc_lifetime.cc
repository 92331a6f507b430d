#include "proto/wire/grpc_lifetime.h"

#include <grpc/grpc.h>

namespace plait::wire {

// gRPC counts who uses it; this use is never taken back.
void KeepGrpcUntilExit() { grpc_init(); }

}  // namespace plait::wire
