#include "server/services/handlers.h"

#include <tuple>
#include <utility>

#include "plait/admin/v1/admin.grpc.pb.h"
#include "plait/v1/blob.grpc.pb.h"
#include "plait/v1/capability.grpc.pb.h"
#include "plait/v1/optimization.grpc.pb.h"
#include "plait/v1/profile.grpc.pb.h"
#include "plait/worker/v1/worker.grpc.pb.h"
#include "server/services/admin_service.h"
#include "server/services/blob_service.h"
#include "server/services/capability_service.h"
#include "server/services/optimization_service.h"
#include "server/services/profile_service.h"
#include "server/services/weighed_service.h"
#include "server/services/worker_service.h"

namespace plait {
namespace {

template <typename Handler>
using ServicePointer = std::unique_ptr<WeighedService<Handler>>;

template <typename Service, typename Handler>
ServicePointer<Handler> Make(const ServiceContext& context) {
  return std::make_unique<WeighedService<Handler>>(context, Service::service_full_name());
}

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeHandlers(const ServiceContext& context) {
  auto services =
      std::make_tuple(Make<v1::OptimizationService, OptimizationServiceHandler>(context),
                      Make<v1::BlobService, BlobServiceHandler>(context),
                      Make<v1::CapabilityService, CapabilityServiceHandler>(context),
                      Make<v1::ProfileService, ProfileServiceHandler>(context),
                      Make<worker::v1::WorkerService, WorkerServiceHandler>(context),
                      Make<admin::v1::AdminService, AdminServiceHandler>(context));
#define PLAIT_METHOD(service, name, ...)                                     \
  std::get<ServicePointer<service##Handler>>(services)->Add(Method::k##name, \
                                                            &service##Handler::name);
#include "server/services/methods.def"
#undef PLAIT_METHOD
  std::vector<std::unique_ptr<grpc::Service>> handlers;
  std::apply([&](auto&... service) { (handlers.push_back(std::move(service)), ...); }, services);
  return handlers;
}

}  // namespace plait
