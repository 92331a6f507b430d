#pragma once

#include <memory>
#include <vector>

#include <grpcpp/impl/codegen/service_type.h>

#include "server/services/service_context.h"

namespace plait {

// A handler of every service, for one gRPC server. All servers have all of them, and the roles of
// the context say which methods answer: a caller at the wrong address hears so, in an error with a
// reason, instead of that there is no such method.
// `context` must outlive the handlers.
std::vector<std::unique_ptr<grpc::Service>> MakeHandlers(const ServiceContext& context);

}  // namespace plait
