#include "client/merged_plans.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "client/files/file.h"
#include "optimizer/onnx/assume_batch.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/onnx/import.h"
#include "optimizer/search/kept_plans.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// A file without the plans inside.
struct BodyWithPlans {
  std::string body;
  KeptPlans plans;
};

absl::StatusOr<BodyWithPlans> ReadBodyWithPlans(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(path));
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  if (!model.ok()) {
    return wire::WithReason(Annotate(model.status(), path), v1::ERROR_REASON_MODEL_REJECTED);
  }
  BodyWithPlans file;
  PLAIT_ASSIGN_OR_RETURN(const ModelWithPlan stripped, AttachPlans(bytes, {}));
  file.body = absl::StrJoin(stripped.kept, "");
  std::vector<std::string> assumed;
  file.plans = ReadKeptPlans(*model, static_cast<int64_t>(bytes.size()),
                             WithBatchOfOne(*model, {}, &assumed));
  return file;
}

}  // namespace

absl::StatusOr<std::string> MergePlanFiles(absl::Span<const std::string> paths,
                                           std::vector<std::string>* warnings) {
  std::string body;
  std::vector<EmbeddedPlan> plans;
  for (const std::string& path : paths) {
    PLAIT_ASSIGN_OR_RETURN(BodyWithPlans file, ReadBodyWithPlans(path));
    if (&path == &paths.front()) {
      body = std::move(file.body);
    } else if (file.body != body) {
      return wire::Error(
          v1::ERROR_REASON_INVALID_REQUEST,
          absl::StrCat(path, " is another model than ", paths.front(),
                       " beside its plans, or has a rewritten graph (optimize one of them on the "
                       "other machine: it keeps the plans that are inside)"));
    }
    for (const std::string& warning : file.plans.warnings) {
      warnings->push_back(absl::StrCat(path, ": ", warning));
    }
    for (const KeptPlan* plan : KeptBeside(plans, file.plans.plans)) plans.push_back(plan->texts);
  }
  if (plans.size() > kPlansPerModelMax) {
    return wire::Error(
        v1::ERROR_REASON_INVALID_REQUEST,
        absl::StrCat("a file may hold ", kPlansPerModelMax, " plans, and these have ", plans.size(),
                     " (merge fewer of them)"));
  }
  PLAIT_ASSIGN_OR_RETURN(const ModelWithPlan written, AttachPlans(body, plans));
  return absl::StrCat(absl::StrJoin(written.kept, ""), written.appended);
}

}  // namespace plait
