#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using OptimizationStub = v1::OptimizationService::Stub;
using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;

class OptimizationServiceTest : public ServicesTest {
 protected:
  absl::StatusOr<v1::OptimizeModelResponse> Submit(const v1::OptimizeModelRequest& request,
                                                   absl::string_view tenant = "alice") {
    return Call(&OptimizationStub::OptimizeModel, request, tenant);
  }

  absl::StatusOr<v1::GetJobResponse> Get(const std::string& id,
                                         absl::string_view tenant = "alice") {
    v1::GetJobRequest request;
    request.set_job_id(id);
    return Call(&OptimizationStub::GetJob, request, tenant);
  }

  absl::StatusOr<v1::CancelJobResponse> Cancel(const std::string& id,
                                               absl::string_view tenant = "alice") {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    return Call(&OptimizationStub::CancelJob, request, tenant);
  }

  absl::StatusOr<v1::ListJobsResponse> List(int page_size, const std::string& token,
                                            v1::JobState state = v1::JOB_STATE_UNSPECIFIED,
                                            absl::string_view tenant = "alice") {
    v1::ListJobsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    request.set_state(state);
    return Call(&OptimizationStub::ListJobs, request, tenant);
  }

  // All messages of a stream, and how it ended.
  std::pair<std::vector<v1::WatchJobResponse>, absl::Status> Watch(
      const std::string& id, int64_t after_sequence = 0, absl::string_view tenant = "alice") {
    v1::WatchJobRequest request;
    request.set_job_id(id);
    request.set_after_sequence(after_sequence);
    const auto context = ContextOf(tenant);
    OptimizationStub stub(channel());
    const auto reader = stub.WatchJob(context.get(), request);
    std::vector<v1::WatchJobResponse> messages;
    v1::WatchJobResponse message;
    while (reader->Read(&message)) messages.push_back(message);
    return {messages, wire::FromGrpcStatus(reader->Finish())};
  }

  static std::vector<std::string> IdsOf(const v1::ListJobsResponse& response) {
    std::vector<std::string> ids;
    for (const v1::Job& job : response.jobs()) ids.push_back(job.id());
    return ids;
  }
};

TEST_F(OptimizationServiceTest, QueuesAJobAndShowsIt) {
  const auto submitted = Submit(ModelRequest());
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(submitted->job().state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(submitted->job().tenant(), "alice");
  const auto shown = Get(submitted->job().id());
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->job().id(), submitted->job().id());
  EXPECT_EQ(shown->job().model().sha256_hex(), ModelRequest().model().sha256_hex());
  EXPECT_EQ(shown->attempts_size(), 0);
  EXPECT_EQ(stores_.jobs->Count()->queued, 1);
}

TEST_F(OptimizationServiceTest, ShowsTheAttemptsOfAJob) {
  const std::string id = SubmitJob().id();
  ASSERT_TRUE(stores_.jobs->Acquire({"runner", {}, absl::Minutes(1)})->has_value());
  const auto shown = Get(id);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->job().state(), v1::JOB_STATE_RUNNING);
  ASSERT_EQ(shown->attempts_size(), 1);
  EXPECT_EQ(shown->attempts(0).number(), 1);
}

TEST_F(OptimizationServiceTest, ValidatesWithoutQueuing) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_validate_only(true);
  const auto response = Submit(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(response->job().id(), IsEmpty());
  EXPECT_EQ(stores_.jobs->Count()->queued, 0);
  request.mutable_options()->set_device("cuda:0");
  EXPECT_THAT(Submit(request).status(), HasReason(v1::ERROR_REASON_DEVICE_UNAVAILABLE));
}

TEST_F(OptimizationServiceTest, TakesJobsForDescribedDevices) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_validate_only(true);
  request.mutable_options()->set_device("model:h200");
  EXPECT_TRUE(Submit(request).ok());
  request.mutable_options()->set_device("model:h2000");
  const absl::Status status = Submit(request).status();
  EXPECT_THAT(status, HasReason(v1::ERROR_REASON_DEVICE_UNAVAILABLE));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("model:h200, model:l40s"));
}

TEST_F(OptimizationServiceTest, RefusesRuntimesThatItLacks) {
  v1::Device& fast = runtimes_.found.devices.emplace_back();
  fast.set_id("fast");
  fast.set_runtime_version("1.2");
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_validate_only(true);
  request.mutable_options()->add_runtimes("plait");
  request.mutable_options()->add_runtimes("fast");
  EXPECT_TRUE(Call(&OptimizationStub::OptimizeModel, request).ok());
  request.mutable_options()->add_runtimes("slow");
  const absl::Status status = Call(&OptimizationStub::OptimizeModel, request).status();
  EXPECT_THAT(status, HasReason(v1::ERROR_REASON_DEVICE_UNAVAILABLE));
  EXPECT_THAT(status, Says("\"slow\""));
  EXPECT_THAT(status, Says("fast, plait"));
}

TEST_F(OptimizationServiceTest, ARequestIdNamesOneWish) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_request_id("one-wish");
  const auto first = Submit(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Submit(request)->job().id(), first->job().id());
  EXPECT_EQ(stores_.jobs->Count()->queued, 1);
  request.mutable_options()->set_seed(1);
  EXPECT_THAT(Submit(request).status(), HasReason(v1::ERROR_REASON_REQUEST_ID_REUSED));
}

// A client whose first answer was lost asks again, and must hear of its job whatever has happened.
TEST_F(OptimizationServiceTest, AcknowledgesAgainWhatItHasAcknowledged) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_request_id("one-wish");
  const auto first = Submit(request);
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 1; i < kTenantJobsMax; ++i) SubmitJob();
  EXPECT_THAT(Submit(ModelRequest()).status(), HasReason(v1::ERROR_REASON_QUOTA_EXCEEDED));
  EXPECT_EQ(Submit(request)->job().id(), first->job().id());
  draining_ = true;
  EXPECT_THAT(Submit(ModelRequest()).status(), HasReason(v1::ERROR_REASON_DRAINING));
  EXPECT_EQ(Submit(request)->job().id(), first->job().id());
}

TEST_F(OptimizationServiceTest, ValidatesAgainstTheQuotaToo) {
  for (int i = 0; i < kTenantJobsMax; ++i) SubmitJob();
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_validate_only(true);
  EXPECT_THAT(Submit(request).status(), HasReason(v1::ERROR_REASON_QUOTA_EXCEEDED));
}

TEST_F(OptimizationServiceTest, RefusesMalformedRequests) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_request_id("not an id");
  EXPECT_THAT(Submit(request).status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  request = ModelRequest();
  request.mutable_options()->set_search("magic");
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("search")));
  request = ModelRequest();
  request.mutable_model()->set_sha256_hex("abc");
  EXPECT_THAT(Submit(request).status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(Submit(ModelRequest(), "a tenant").status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("plait-tenant")));
  EXPECT_EQ(Counted("OptimizeModel", "INVALID_ARGUMENT"), 4);
}

// Fields and enum values of a newer client may be what its user relies on.
TEST_F(OptimizationServiceTest, RefusesWhatOnlyANewerServerKnows) {
  const auto add_unknown_field = [](google::protobuf::Message* message) {
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(99, 1);
  };
  v1::OptimizeModelRequest request = ModelRequest();
  add_unknown_field(request.mutable_options());
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("options.99")));
  request = ModelRequest();
  add_unknown_field(&request);
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("field 99")));
  v1::ListJobsRequest list;
  add_unknown_field(&list);
  EXPECT_THAT(Call(&OptimizationStub::ListJobs, list).status(),
              HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(List(0, "", static_cast<v1::JobState>(77)).status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("state: ")));
}

TEST_F(OptimizationServiceTest, RefusesAModelThatNoSearchCanRead) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.mutable_model()->set_size_bytes(kModelBytesMax + 1);
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_LIMIT_EXCEEDED), Says("at most 2147483647 bytes")));
}

TEST_F(OptimizationServiceTest, WantsTheModelUploadedByTheSameTenant) {
  EXPECT_THAT(Submit(ModelRequest(), "bob").status(), HasReason(v1::ERROR_REASON_BLOB_MISSING));
  v1::OptimizeModelRequest request = ModelRequest();
  *request.mutable_model() = wire::DigestToProto(DigestOf("never uploaded"));
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_BLOB_MISSING), Says("model")));
  const Digest partial = DigestOf("half of it");
  ASSERT_TRUE(stores_.blobs->Append({"alice", partial}, 0, "half").ok());
  *request.mutable_model() = wire::DigestToProto(partial);
  EXPECT_THAT(Submit(request).status(), HasReason(v1::ERROR_REASON_BLOB_MISSING));
  request = ModelRequest();
  *request.mutable_options()->mutable_measurement_log() = wire::DigestToProto(DigestOf("a log"));
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_BLOB_MISSING), Says("measurement log")));
}

TEST_F(OptimizationServiceTest, WantsInputsUploadedByTheSameTenant) {
  v1::OptimizeModelRequest request = ModelRequest();
  for (const char* name : {"x", "mask"}) {
    v1::InputValue& value = *request.mutable_options()->add_input_sets()->add_values();
    value.set_name(name);
    *value.mutable_blob() = Give("a value", "alice");
  }
  EXPECT_TRUE(Submit(request).ok());
  *request.mutable_options()->mutable_input_sets(1)->mutable_values(0)->mutable_blob() =
      Give("bob's value", "bob");
  for (const bool validate_only : {false, true}) {
    request.set_validate_only(validate_only);
    EXPECT_THAT(Submit(request).status(),
                AllOf(HasReason(v1::ERROR_REASON_BLOB_MISSING), Says("value of input mask")));
  }
}

TEST_F(OptimizationServiceTest, KnowsTheDevicesOfConnectedWorkers) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.mutable_options()->set_device("cuda:0");
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_DEVICE_UNAVAILABLE), Says("(there are: none)")));
  ConnectWorker("w1", "cuda:1");
  EXPECT_THAT(Submit(request).status(), Says("(there are: cuda:1)"));
  ConnectWorker("w2", "cuda:0");
  EXPECT_TRUE(Submit(request).ok());
}

TEST_F(OptimizationServiceTest, RefusesMoreThreadsThanAnyWorkerHas) {
  v1::OptimizeModelRequest request = ModelRequest();
  request.mutable_options()->set_threads(3);
  EXPECT_TRUE(Submit(request).ok()) << "its worker has not called yet";
  ConnectWorker("w1", "cpu", /*cores=*/2);
  EXPECT_THAT(Submit(request).status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST),
                    Says("options.threads: cpu has 2 by affinity, cpuset, quota and settings")));
  request.set_validate_only(true);
  EXPECT_TRUE(absl::IsInvalidArgument(Submit(request).status()));
  // A replay measures nothing.
  *request.mutable_options()->mutable_measurement_log() = Give("a log");
  EXPECT_TRUE(Submit(request).ok()) << Submit(request).status();
  request.mutable_options()->clear_measurement_log();
  ConnectWorker("w2", "cpu", /*cores=*/4);
  EXPECT_TRUE(Submit(request).ok()) << Submit(request).status();
}

TEST_F(OptimizationServiceTest, OneTenantCannotFillTheQueue) {
  for (int i = 0; i < kTenantJobsMax; ++i) SubmitJob("alice");
  EXPECT_THAT(Submit(ModelRequest()).status(), HasReason(v1::ERROR_REASON_QUOTA_EXCEEDED));
  SubmitJob("bob");
  v1::OptimizeModelRequest request = ModelRequest();
  *request.mutable_model() = Give("a model", "carol");
  EXPECT_THAT(Submit(request, "carol").status(), HasReason(v1::ERROR_REASON_QUOTA_EXCEEDED));
}

TEST_F(OptimizationServiceTest, TakesNoJobsWhenItDrains) {
  const std::string id = SubmitJob().id();
  draining_ = true;
  EXPECT_THAT(Submit(ModelRequest()).status(), HasReason(v1::ERROR_REASON_DRAINING));
  EXPECT_TRUE(Get(id).ok());
}

TEST_F(OptimizationServiceTest, JobsOfOthersDoNotExist) {
  const std::string id = SubmitJob("alice").id();
  for (const char* tenant : {"bob", ""}) {
    EXPECT_THAT(Get(id, tenant).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
    EXPECT_THAT(Cancel(id, tenant).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
    EXPECT_THAT(Watch(id, 0, tenant).second, HasReason(v1::ERROR_REASON_NOT_FOUND));
    EXPECT_EQ(List(0, "", v1::JOB_STATE_UNSPECIFIED, tenant)->jobs_size(), 0);
  }
  EXPECT_EQ(Get(id)->job().state(), v1::JOB_STATE_QUEUED);
}

TEST_F(OptimizationServiceTest, RefusesMalformedAndUnknownIds) {
  EXPECT_THAT(Get("Not an id").status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(Cancel("").status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(Watch("../job").second, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(Get("no-such-job").status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  EXPECT_THAT(Cancel("no-such-job").status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  EXPECT_THAT(Watch("no-such-job").second, HasReason(v1::ERROR_REASON_NOT_FOUND));
}

TEST_F(OptimizationServiceTest, ListsJobsByPagesNewestFirst) {
  std::vector<std::string> ids;
  for (int i = 0; i < kTenantJobsMax; ++i) ids.insert(ids.begin(), SubmitJob().id());
  const auto first = List(2, "");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(IdsOf(*first), ElementsAre(ids[0], ids[1]));
  const auto second = List(2, first->next_page_token());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(IdsOf(*second), ElementsAre(ids[2]));
  EXPECT_THAT(second->next_page_token(), IsEmpty());
}

TEST_F(OptimizationServiceTest, ListsJobsInOneState) {
  const std::string cancelled = SubmitJob().id();
  const std::string queued = SubmitJob().id();
  ASSERT_TRUE(Cancel(cancelled).ok());
  EXPECT_THAT(IdsOf(*List(0, "", v1::JOB_STATE_QUEUED)), ElementsAre(queued));
  EXPECT_THAT(IdsOf(*List(0, "", v1::JOB_STATE_CANCELLED)), ElementsAre(cancelled));
}

TEST_F(OptimizationServiceTest, ListsJobsThatAFilterAccepts) {
  const std::string cancelled = SubmitJob().id();
  const std::string queued = SubmitJob().id();
  ASSERT_TRUE(Cancel(cancelled).ok());
  v1::ListJobsRequest request;
  request.set_filter("state = CANCELLED AND device = cpu");
  EXPECT_THAT(IdsOf(*Call(&OptimizationStub::ListJobs, request)), ElementsAre(cancelled));
  request.set_filter("state != CANCELLED");
  EXPECT_THAT(IdsOf(*Call(&OptimizationStub::ListJobs, request)), ElementsAre(queued));
  request.set_filter("colour = red");
  EXPECT_THAT(Call(&OptimizationStub::ListJobs, request).status(),
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("filter: ")));
}

TEST_F(OptimizationServiceTest, APageTokenFitsItsFilterOnly) {
  for (int i = 0; i < kTenantJobsMax; ++i) SubmitJob();
  v1::ListJobsRequest request;
  request.set_page_size(1);
  request.set_filter("state = QUEUED");
  request.set_page_token(Call(&OptimizationStub::ListJobs, request)->next_page_token());
  EXPECT_TRUE(Call(&OptimizationStub::ListJobs, request).ok());
  request.set_filter("device = cpu");
  EXPECT_THAT(Call(&OptimizationStub::ListJobs, request).status(),
              HasReason(v1::ERROR_REASON_INVALID_REQUEST));
}

TEST_F(OptimizationServiceTest, APageTokenFitsItsListingOnly) {
  for (int i = 0; i < kTenantJobsMax; ++i) SubmitJob();
  const std::string token = List(1, "")->next_page_token();
  for (const absl::Status& status :
       {List(1, "nonsense").status(), List(1, token.substr(0, 8)).status(),
        List(1, token, v1::JOB_STATE_QUEUED).status(),
        List(1, token, v1::JOB_STATE_UNSPECIFIED, "bob").status(), List(-1, "").status()}) {
    EXPECT_THAT(status, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  }
}

TEST_F(OptimizationServiceTest, CancelsAQueuedJobAtOnceAndOnlyOnce) {
  const std::string id = SubmitJob().id();
  EXPECT_EQ(Cancel(id)->job().state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Cancel(id)->job().state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(OptimizationServiceTest, AsksARunningJobToStop) {
  const std::string id = SubmitJob().id();
  ASSERT_TRUE(stores_.jobs->Acquire({"runner", {}, absl::Minutes(1)})->has_value());
  EXPECT_EQ(Cancel(id)->job().state(), v1::JOB_STATE_RUNNING);
  EXPECT_TRUE(Get(id)->job().cancel_requested());
}

TEST_F(OptimizationServiceTest, DeletesAJobOnceItIsOver) {
  const std::string id = SubmitJob().id();
  v1::DeleteJobRequest request;
  request.set_job_id(id);
  EXPECT_THAT(Call(&OptimizationStub::DeleteJob, request).status(),
              HasReason(v1::ERROR_REASON_WRONG_STATE));
  ASSERT_TRUE(Cancel(id).ok());
  EXPECT_THAT(Call(&OptimizationStub::DeleteJob, request, "bob").status(),
              HasReason(v1::ERROR_REASON_NOT_FOUND));
  ASSERT_TRUE(Call(&OptimizationStub::DeleteJob, request).ok());
  EXPECT_THAT(Get(id).status(), HasReason(v1::ERROR_REASON_NOT_FOUND));
  EXPECT_THAT(Call(&OptimizationStub::DeleteJob, request).status(),
              HasReason(v1::ERROR_REASON_NOT_FOUND));
  request.set_job_id("Not an id");
  EXPECT_THAT(Call(&OptimizationStub::DeleteJob, request).status(),
              HasReason(v1::ERROR_REASON_INVALID_REQUEST));
}

TEST_F(OptimizationServiceTest, AWatcherSeesEveryEventAndTheEnd) {
  const std::string id = SubmitJob().id();
  ASSERT_TRUE(Cancel(id).ok());
  const auto [messages, status] = Watch(id);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_GE(messages.size(), 3u);
  EXPECT_TRUE(messages.front().has_job());
  for (size_t i = 1; i + 1 < messages.size(); ++i) {
    EXPECT_EQ(messages[i].event().sequence(), static_cast<int64_t>(i));
  }
  EXPECT_EQ(messages[messages.size() - 2].event().type(), v1::EVENT_TYPE_CANCELLED);
  EXPECT_EQ(messages.back().job().state(), v1::JOB_STATE_CANCELLED);
  // After a broken connection only what was missed is sent.
  EXPECT_EQ(Watch(id, 1).first.size(), messages.size() - 1);
}

TEST_F(OptimizationServiceTest, AWatcherHearsOfAJobThatEndsLater) {
  const std::string id = SubmitJob().id();
  v1::WatchJobRequest request;
  request.set_job_id(id);
  const auto context = ContextOf("alice");
  OptimizationStub stub(channel());
  const auto reader = stub.WatchJob(context.get(), request);
  v1::WatchJobResponse message;
  ASSERT_TRUE(reader->Read(&message));
  EXPECT_EQ(message.job().state(), v1::JOB_STATE_QUEUED);
  ASSERT_TRUE(Cancel(id).ok());
  while (reader->Read(&message)) continue;
  EXPECT_EQ(message.job().state(), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(OptimizationServiceTest, WatchersAreSentAwayWhenTheServerStops) {
  const std::string id = SubmitJob().id();
  events_.Close();
  EXPECT_THAT(Watch(id).second, HasReason(v1::ERROR_REASON_DRAINING));
}

TEST_F(OptimizationServiceTest, RefusesANegativeSequence) {
  EXPECT_THAT(Watch(SubmitJob().id(), -1).second,
              AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("after_sequence")));
}

}  // namespace
}  // namespace plait
