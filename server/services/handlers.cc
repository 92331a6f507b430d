#include "server/services/handlers.h"

#include "server/services/admin_service.h"
#include "server/services/blob_service.h"
#include "server/services/capability_service.h"
#include "server/services/optimization_service.h"
#include "server/services/profile_service.h"
#include "server/services/worker_service.h"

namespace plait {

std::vector<std::unique_ptr<grpc::Service>> MakeHandlers(const ServiceContext& context) {
  std::vector<std::unique_ptr<grpc::Service>> handlers;
  handlers.push_back(std::make_unique<OptimizationServiceHandler>(context));
  handlers.push_back(std::make_unique<BlobServiceHandler>(context));
  handlers.push_back(std::make_unique<CapabilityServiceHandler>(context));
  handlers.push_back(std::make_unique<ProfileServiceHandler>(context));
  handlers.push_back(std::make_unique<WorkerServiceHandler>(context));
  handlers.push_back(std::make_unique<AdminServiceHandler>(context));
  return handlers;
}

}  // namespace plait
