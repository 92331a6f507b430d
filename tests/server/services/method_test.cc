#include "server/services/method.h"

#include <set>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>

#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using testing::AllOf;

// The names of all RPCs in the protos of plait that this program is linked with.
std::set<std::string> RpcsOfProtos() {
  std::vector<std::string> files;
  google::protobuf::DescriptorPool::internal_generated_database()->FindAllFileNames(&files);
  std::set<std::string> names;
  for (const std::string& file : files) {
    if (!absl::StartsWith(file, "plait/")) continue;
    const auto* const descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(file);
    for (int i = 0; i < descriptor->service_count(); ++i) {
      for (int j = 0; j < descriptor->service(i)->method_count(); ++j) {
        names.insert(descriptor->service(i)->method(j)->name());
      }
    }
  }
  return names;
}

TEST(MethodTest, EveryRpcHasOneRowAndEveryRowItsRpc) {
  std::set<std::string> rows;
  for (const Method method : AllMethods()) {
    EXPECT_TRUE(rows.insert(std::string(MethodName(method))).second) << MethodName(method);
  }
  EXPECT_EQ(rows, RpcsOfProtos());
}

TEST(MethodTest, ARoleMayCallWhatItsRowSaysAndNothingElse) {
  constexpr Role kRoles[] = {Role::kClient, Role::kWorker, Role::kOperator};
  for (const Method method : AllMethods()) {
    int roles = 0;
    for (const Role role : kRoles) {
      const absl::StatusOr<Caller> caller = Admit(method, {role}, "alice");
      EXPECT_EQ(caller.ok(), RolesOf(method).Has(role)) << MethodName(method);
      if (caller.ok()) {
        ++roles;
        EXPECT_EQ(caller->role, role) << MethodName(method);
        EXPECT_EQ(caller->tenant, "alice");
      } else {
        EXPECT_THAT(caller.status(), AllOf(HasReason(v1::ERROR_REASON_PERMISSION_DENIED),
                                           Says(std::string(MethodName(method)))));
      }
    }
    EXPECT_GE(roles, 1) << MethodName(method);
    EXPECT_TRUE(Admit(method, {Role::kClient, Role::kWorker, Role::kOperator}, "alice").ok());
    EXPECT_FALSE(Admit(method, {}, "alice").ok()) << MethodName(method);
  }
}

TEST(MethodTest, RolesAreThoseOfTheContract) {
  const auto may = [](Method method, Role role) { return RolesOf(method).Has(role); };
  EXPECT_FALSE(may(Method::kSynchronize, Role::kClient));
  EXPECT_FALSE(may(Method::kDrainServer, Role::kClient));
  EXPECT_FALSE(may(Method::kImportProfiles, Role::kClient));
  EXPECT_FALSE(may(Method::kOptimizeModel, Role::kWorker));
  EXPECT_TRUE(may(Method::kDownloadBlob, Role::kWorker));
}

TEST(MethodTest, ARefusalSaysWhomTheMethodIsFor) {
  EXPECT_EQ(Admit(Method::kDownloadBlob, {Role::kOperator}, "alice").status().message(),
            "DownloadBlob: is not served on this address, it is for clients and workers");
}

class AnswerRpcTest : public ServicesTest {};

TEST_F(AnswerRpcTest, RefusesAndCountsCallersOfTheOtherServer) {
  v1::GetJobRequest request;
  request.set_job_id("job-1");
  EXPECT_THAT(CallAsWorker(&v1::OptimizationService::Stub::GetJob, request).status(),
              HasReason(v1::ERROR_REASON_PERMISSION_DENIED));
  EXPECT_EQ(Counted("GetJob", "PERMISSION_DENIED"), 1);
}

TEST_F(AnswerRpcTest, AWorkerCannotSubmitAJob) {
  EXPECT_THAT(CallAsWorker(&v1::OptimizationService::Stub::OptimizeModel, ModelRequest()).status(),
              AllOf(HasReason(v1::ERROR_REASON_PERMISSION_DENIED), Says("clients")));
  EXPECT_EQ(stores_.jobs->Count()->queued, 0);
}

TEST_F(AnswerRpcTest, CountsWhatItAnswers) {
  v1::ListJobsRequest request;
  EXPECT_TRUE(Call(&v1::OptimizationService::Stub::ListJobs, request).ok());
  EXPECT_TRUE(Call(&v1::OptimizationService::Stub::ListJobs, request, "").ok());
  EXPECT_EQ(Counted("ListJobs", "OK"), 2);
}

}  // namespace
}  // namespace plait
