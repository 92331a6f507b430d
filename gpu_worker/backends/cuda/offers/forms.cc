#include "gpu_worker/backends/cuda/offers/forms.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace plait::cuda {
namespace {

constexpr absl::string_view kPartsMark = "parts:";

}  // namespace

std::vector<absl::string_view> PartsOfForm(absl::string_view form) {
  absl::string_view names = ImplementationOfForm(form);
  if (!absl::ConsumePrefix(&names, kPartsMark)) return {};
  return absl::StrSplit(names, '|');
}

std::string FormWith(absl::string_view form, absl::Span<const std::string> implementations,
                     bool in_parts) {
  if (implementations.empty()) return "";
  const absl::string_view precision = form.empty() ? kStrictForm : form;
  return absl::StrCat(precision.substr(0, precision.find('/')), "/", in_parts ? kPartsMark : "",
                      absl::StrJoin(implementations, "|"));
}

}  // namespace plait::cuda
