#include "proto/wire/page.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/limits.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

// 64 bits tell listings apart. It is no secret: a forged position only shows the caller's own rows.
std::string Mark(absl::string_view filter) { return DigestOf(filter).sha256_hex.substr(0, 16); }

}  // namespace

absl::StatusOr<int> PageSizeOf(int page_size) {
  if (page_size < 0) {
    return FieldError("page_size", absl::StrCat("must be 0 or more, is ", page_size));
  }
  return page_size == 0 ? kPageSizeDefault : std::min(page_size, kPageSizeMax);
}

// Base64 of nothing secret: it says that a token is not made by hand.
std::string PageToken(absl::string_view filter, absl::string_view position) {
  return absl::WebSafeBase64Escape(absl::StrCat(Mark(filter), position));
}

absl::StatusOr<std::string> PagePosition(absl::string_view filter, absl::string_view token) {
  if (token.empty()) return std::string();
  std::string text;
  absl::string_view position;
  if (absl::WebSafeBase64Unescape(token, &text)) position = text;
  // Also where the token was no base64: the position is empty then.
  if (!absl::ConsumePrefix(&position, Mark(filter))) {
    return FieldError("page_token", "must be next_page_token of a page of the same listing");
  }
  return std::string(position);
}

}  // namespace plait::wire
