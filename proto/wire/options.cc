#include "proto/wire/options.h"

#include <algorithm>
#include <cmath>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/known_fields.h"
#include "proto/wire/names.h"
#include "proto/wire/plan_options.h"

namespace plait::wire {
namespace {

constexpr absl::string_view kSearchPolicies[] = {
#define PLAIT_SEARCH_POLICY(name, ...) #name,
#include "optimizer/search/policies.def"
#undef PLAIT_SEARCH_POLICY
};
constexpr absl::string_view kSchedulePolicies[] = {
#define PLAIT_POLICY(name, Name) #name,
#include "optimizer/schedule/policies.def"
#undef PLAIT_POLICY
};
// A name stands here once kernels keep to it.
constexpr absl::string_view kPrecisions[] = {"strict", "auto", "tf32", "fp16", "bf16"};
// A few times what whole networks lose by single products, of their largest output.
constexpr double kTf32RelErrorMax = 1e-3;
constexpr double kFp16RelErrorMax = 1e-2;
constexpr double kBf16RelErrorMax = 5e-2;

// More than there are.
constexpr int kRuntimesMax = 16;

constexpr absl::string_view kBodies[] = {"auto", "original", "portable", "searched"};

// The value is escaped and cut, because it is a stranger's text in a message that is logged.
absl::Status CheckOneOf(absl::string_view field, absl::string_view value,
                        absl::Span<const absl::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return absl::OkStatus();
  return InvalidOption(field, absl::StrCat("must be one of ", absl::StrJoin(allowed, ", "),
                                           ", is \"", absl::CHexEscape(value.substr(0, 80)), "\""));
}

absl::Status CheckShape(absl::string_view name, const v1::Shape& shape) {
  if (name.empty() || name.size() > kNameBytesMax) {
    return InvalidOption("shapes", absl::StrCat("an input's name must have 1 to ", kNameBytesMax,
                                                " bytes, has ", name.size()));
  }
  const std::string field = absl::StrCat("shapes[", absl::CHexEscape(name), "]");
  if (shape.dims_size() > kTensorRankMax) {
    return InvalidOption(field, absl::StrCat("at most ", kTensorRankMax,
                                             " dimensions are allowed, has ", shape.dims_size()));
  }
  int64_t elements = 1;
  for (const int64_t dim : shape.dims()) {
    if (dim < 1) {
      return InvalidOption(field, absl::StrCat("dimensions must be positive, one is ", dim));
    }
    // A division, because the product could overflow.
    if (dim > kTensorElementsMax / elements) {
      return InvalidOption(field, absl::StrCat("more than ", kTensorElementsMax, " elements"));
    }
    elements *= dim;
  }
  return absl::OkStatus();
}

// What clients of before meant that knew `portable` only.
absl::string_view DefaultBody(const v1::OptimizeOptions& options) {
  if (!options.has_portable()) return "auto";
  return options.portable() ? "portable" : "searched";
}

absl::Status CheckBody(const v1::OptimizeOptions& options) {
  PLAIT_RETURN_IF_ERROR(CheckOneOf("body", options.body(), kBodies));
  if (options.body() == "portable" && !options.portable()) {
    return InvalidOption("portable", "must not be false where the body is \"portable\"");
  }
  if (options.body() == "original" && options.opset() != 0) {
    return InvalidOption("opset",
                         "the original keeps its opset: leave it out, or ask for another body "
                         "(\"portable\" or \"searched\")");
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const v1::OptimizeOptions& options) {
  if (options.threads() < 0 || options.threads() > kThreadsMax) {
    return InvalidOption("threads",
                         absl::StrCat("must be 0 to ", kThreadsMax, ", is ", options.threads()));
  }
  // Written so that NaN fails.
  if (!(options.budget_seconds() >= 0 && options.budget_seconds() <= kBudgetSecondsMax)) {
    return InvalidOption("budget_seconds", absl::StrCat("must be 0 to ", kBudgetSecondsMax, ", is ",
                                                        options.budget_seconds()));
  }
  if (!(options.max_rel_error() >= 0 && options.max_rel_error() <= 1)) {
    return InvalidOption("max_rel_error",
                         absl::StrCat("must be 0 to 1, is ", options.max_rel_error()));
  }
  if (options.precision() == "auto" && options.max_rel_error() == 0) {
    return InvalidOption("max_rel_error",
                         "must say how much may be lost where the precision is \"auto\"");
  }
  if (options.opset() != 0 && (options.opset() < kOpsetMin || options.opset() > kOpsetMax)) {
    return InvalidOption("opset", absl::StrCat("must be 0 or ", kOpsetMin, " to ", kOpsetMax,
                                               ", is ", options.opset()));
  }
  return absl::OkStatus();
}

// Whether the model has these inputs is found when it is read.
absl::Status CheckInputSets(const v1::OptimizeOptions& options) {
  if (options.input_sets_size() > kInputSetsMax) {
    return InvalidOption("input_sets",
                         absl::StrCat("at most ", kInputSetsMax, " sets are allowed, has ",
                                      options.input_sets_size()));
  }
  int values = 0;
  int64_t bytes = 0;
  for (int set = 0; set < options.input_sets_size(); ++set) {
    values += options.input_sets(set).values_size();
    if (values > kInputValuesMax) {
      return InvalidOption("input_sets", absl::StrCat("at most ", kInputValuesMax,
                                                      " values are allowed in all sets"));
    }
    for (int index = 0; index < options.input_sets(set).values_size(); ++index) {
      const v1::InputValue& value = options.input_sets(set).values(index);
      const std::string field = absl::StrCat("input_sets[", set, "].values[", index, "]");
      if (value.name().empty() || static_cast<int64_t>(value.name().size()) > kNameBytesMax) {
        return InvalidOption(
            absl::StrCat(field, ".name"),
            absl::StrCat("must have 1 to ", kNameBytesMax, " bytes, has ", value.name().size()));
      }
      PLAIT_ASSIGN_OR_RETURN(
          const Digest blob,
          DigestFromProto(value.blob(), absl::StrCat("options.", field, ".blob")));
      // Each by itself, because their sum could overflow.
      if (blob.size_bytes > kInputSetsBytesMax - bytes) {
        return Error(v1::ERROR_REASON_LIMIT_EXCEEDED,
                     absl::StrCat("options.input_sets: at most ", kInputSetsBytesMax,
                                  " bytes are allowed in all sets"));
      }
      bytes += blob.size_bytes;
    }
  }
  return absl::OkStatus();
}

// On a device that is described nothing runs, and its kernels compute in fp32.
absl::Status CheckDescribed(const v1::OptimizeOptions& options) {
  if (!IsDescribedId(options.device())) return absl::OkStatus();
  const absl::string_view device = options.device();
  const auto refuse = [&](absl::string_view field, absl::string_view why) {
    return InvalidOption(field, absl::StrCat(why, " on ", device, ", which is only described"));
  };
  if (options.precision() != "strict") {
    return refuse("precision", "must be \"strict\"");
  }
  if (options.threads() != 0) return refuse("threads", "are of a processor, and none");
  if (options.plan_for_size() > 0) return refuse("plan_for", "must be left out");
  if (!options.shape_ranges().empty()) return refuse("shape_ranges", "must be left out");
  for (const std::string& runtime : options.runtimes()) {
    if (runtime != "plait") return refuse("runtimes", "nothing is measured");
  }
  return absl::OkStatus();
}

// Which of them there are is for the server to say. Sorted and each once, so that the same wish has
// the same key.
absl::Status CheckRuntimes(v1::OptimizeOptions& options) {
  auto& names = *options.mutable_runtimes();
  if (names.size() > kRuntimesMax) {
    return InvalidOption(
        "runtimes", absl::StrCat("at most ", kRuntimesMax, " are allowed, has ", names.size()));
  }
  for (const std::string& name : names) {
    PLAIT_RETURN_IF_ERROR(CheckRuntime("options.runtimes", name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return absl::OkStatus();
}

}  // namespace

absl::Span<const absl::string_view> SearchPolicies() { return kSearchPolicies; }
absl::Span<const absl::string_view> SchedulePolicies() { return kSchedulePolicies; }
absl::Span<const absl::string_view> Precisions() { return kPrecisions; }
absl::Span<const absl::string_view> Bodies() { return kBodies; }

absl::StatusOr<v1::OptimizeOptions> CheckedOptions(const v1::OptimizeOptions& options) {
  // An option that has no effect here could be one that the caller relies on.
  PLAIT_RETURN_IF_ERROR(CheckFieldsKnown("options", options));
  v1::OptimizeOptions checked = options;
  // Filled in before anything is hashed: a default that is spelled out gives the same key.
  if (checked.device().empty()) checked.set_device("cpu");
  if (checked.search().empty()) checked.set_search(std::string(kPolicyDefault));
  if (checked.schedule().empty()) checked.set_schedule(std::string(kPolicyDefault));
  // Who says how much may be lost wants it to be lost.
  if (checked.precision().empty()) {
    checked.set_precision(checked.max_rel_error() > 0 ? "auto" : "strict");
  }
  if (checked.max_rel_error() == 0) {
    if (checked.precision() == "tf32") checked.set_max_rel_error(kTf32RelErrorMax);
    if (checked.precision() == "fp16") checked.set_max_rel_error(kFp16RelErrorMax);
    if (checked.precision() == "bf16") checked.set_max_rel_error(kBf16RelErrorMax);
  }
  if (checked.body().empty()) checked.set_body(std::string(DefaultBody(checked)));
  if (!checked.has_portable()) checked.set_portable(checked.body() == "portable");
  PLAIT_RETURN_IF_ERROR(CheckJobDeviceId("options.device", checked.device()));
  PLAIT_RETURN_IF_ERROR(CheckOneOf("search", checked.search(), kSearchPolicies));
  PLAIT_RETURN_IF_ERROR(CheckOneOf("schedule", checked.schedule(), kSchedulePolicies));
  PLAIT_RETURN_IF_ERROR(CheckOneOf("precision", checked.precision(), kPrecisions));
  PLAIT_RETURN_IF_ERROR(CheckBody(checked));
  PLAIT_RETURN_IF_ERROR(CheckNumbers(checked));
  PLAIT_RETURN_IF_ERROR(CheckPlanOptions(checked));
  PLAIT_RETURN_IF_ERROR(CheckDescribed(checked));
  // Counted before they are looked at.
  if (checked.shapes().size() > kShapesMax) {
    return InvalidOption("shapes", absl::StrCat("at most ", kShapesMax, " inputs are allowed, has ",
                                                checked.shapes().size()));
  }
  for (const auto& [name, shape] : checked.shapes()) {
    PLAIT_RETURN_IF_ERROR(CheckShape(name, shape));
  }
  if (checked.has_measurement_log()) {
    constexpr absl::string_view kField = "options.measurement_log";
    PLAIT_RETURN_IF_ERROR(DigestFromProto(checked.measurement_log(), kField).status());
    if (checked.measurement_log().size_bytes() > kMeasurementLogBytesMax) {
      return Error(
          v1::ERROR_REASON_LIMIT_EXCEEDED,
          absl::StrCat(kField, ": at most ", kMeasurementLogBytesMax, " bytes are allowed"));
    }
  }
  PLAIT_RETURN_IF_ERROR(CheckInputSets(checked));
  PLAIT_RETURN_IF_ERROR(CheckRuntimes(checked));
  return checked;
}

std::string OptionsHash(const v1::OptimizeOptions& options) {
  v1::OptimizeOptions relevant = options;
  // It says where a result comes from, not what it is.
  relevant.clear_no_result_cache();
  return MessageHash(relevant);
}

std::string MessageHash(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    // Maps would be written in any order otherwise.
    coded.SetSerializationDeterministic(true);
    PLAIT_CHECK(message.SerializeToCodedStream(&coded));
  }
  return DigestOf(bytes).sha256_hex;
}

}  // namespace plait::wire
