#include "tests/server/services/services_fixture.h"

#include "absl/strings/str_cat.h"
#include "server/telemetry/log.h"
#include "storage/blob_bytes.h"

namespace plait {

ServicesTest::ServicesTest() {
  EXPECT_TRUE(SetLogLevel("off").ok());
  StoresOptions options;
  options.queued_jobs_max = kJobsMax;
  options.listener = [this](const std::string& job_id) { events_.Notify(job_id); };
  stores_ = *OpenStores("memory", options, clock_);
  context_.reset(new ServiceContext{.stores = stores_,
                                    .pool = pool_,
                                    .metrics = metrics_,
                                    .clock = clock_,
                                    .events = events_,
                                    .streams = streams_,
                                    .stream_deadlines = stream_deadlines_,
                                    .request_memory = request_memory_,
                                    .version = "1.2.3",
                                    .engine_version = "engine",
                                    .local_devices = {"cpu"},
                                    .runtimes = &runtimes_,
                                    .tenant_queued_jobs_max = kTenantJobsMax,
                                    .uploads_bytes_max = kUploadsBytesMax,
                                    .started_at = clock_.Now(),
                                    .draining = draining_,
                                    .caller_roles = {Role::kClient, Role::kOperator}});
  worker_context_ = std::make_unique<ServiceContext>(*context_);
  worker_context_->caller_roles = {Role::kWorker};
  client_server_ = std::make_unique<InProcessServer>(*context_);
  worker_server_ = std::make_unique<InProcessServer>(*worker_context_);
}

ServicesTest::~ServicesTest() { events_.Close(); }

ServicesTest::InProcessServer::InProcessServer(const ServiceContext& context)
    : handlers_(MakeHandlers(context)) {
  grpc::ServerBuilder builder;
  for (const auto& handler : handlers_) builder.RegisterService(handler.get());
  server_ = builder.BuildAndStart();
  channel_ = server_->InProcessChannel({});
}

ServicesTest::InProcessServer::~InProcessServer() { server_->Shutdown(); }

std::unique_ptr<grpc::ClientContext> ServicesTest::ContextOf(absl::string_view tenant) {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!tenant.empty()) context->AddMetadata("plait-tenant", std::string(tenant));
  return context;
}

v1::Digest ServicesTest::Give(absl::string_view bytes, absl::string_view tenant) {
  const absl::StatusOr<Digest> digest = PutBlob(*stores_.blobs, bytes);
  EXPECT_TRUE(digest.ok()) << digest.status();
  EXPECT_TRUE(stores_.jobs->GrantBlob(tenant, *digest).ok());
  return wire::DigestToProto(*digest);
}

v1::OptimizeModelRequest ServicesTest::ModelRequest() {
  v1::OptimizeModelRequest request;
  *request.mutable_model() = Give("a model");
  request.mutable_options()->set_device("cpu");
  return request;
}

v1::Job ServicesTest::SubmitJob(absl::string_view tenant) {
  v1::OptimizeModelRequest request = ModelRequest();
  *request.mutable_model() = Give("a model", tenant);
  const auto response = Call(&v1::OptimizationService::Stub::OptimizeModel, request, tenant);
  EXPECT_TRUE(response.ok()) << response.status();
  return response->job();
}

void ServicesTest::ConnectWorker(const std::string& worker_id, const std::string& device_id,
                                 int cores) {
  worker::v1::SynchronizeRequest request;
  request.set_worker_id(worker_id);
  request.mutable_device()->set_id(device_id);
  request.mutable_device()->set_backend("cpu");
  request.mutable_device()->set_fingerprint(device_id + "-fingerprint");
  if (cores > 0) request.mutable_device()->mutable_fingerprint()->append(absl::StrCat("-", cores));
  request.mutable_device()->set_cores(cores);
  request.mutable_idle();
  pool_.Synchronize(request, WorkerPlace::kThisHost);
}

double ServicesTest::Counted(absl::string_view method, absl::string_view code) {
  for (const prometheus::MetricFamily& family : metrics_.registry().Collect()) {
    if (family.name != "plait_rpcs_total") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::string labels;
      for (const auto& label : metric.label) absl::StrAppend(&labels, label.value, " ");
      if (absl::StrContains(labels, absl::StrCat(method, " ")) &&
          absl::StrContains(labels, absl::StrCat(code, " "))) {
        return metric.counter.value;
      }
    }
  }
  return 0;
}

}  // namespace plait
