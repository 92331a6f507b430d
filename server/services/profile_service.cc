#include "server/services/profile_service.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/page.h"
#include "proto/wire/profile.h"
#include "server/services/rpc_scope.h"

namespace plait {
namespace {

// What the clocks of two servers may differ by.
constexpr absl::Duration kClocksDifferMax = absl::Hours(24);

absl::Status CheckCount(int count) {
  if (count <= kProfilesPerImportMax) return absl::OkStatus();
  return wire::FieldError("profiles",
                          absl::StrCat("at most ", kProfilesPerImportMax, ", are ", count));
}

}  // namespace

grpc::Status ProfileServiceHandler::ListProfiles(grpc::ServerContext* context,
                                                 const v1::ListProfilesRequest* request,
                                                 v1::ListProfilesResponse* response) {
  return AnswerRpc(context_, *context, Method::kListProfiles, [&](const Caller&) -> absl::Status {
    PLAIT_ASSIGN_OR_RETURN(const int page_size, wire::PageSizeOf(request->page_size()));
    const std::string filter = absl::StrCat("profiles ", request->device_fingerprint());
    PLAIT_ASSIGN_OR_RETURN(const std::string position,
                           wire::PagePosition(filter, request->page_token()));
    // The key of the page's last row, not a number of rows: profiles that are stored between two
    // pages then shift nothing. A fingerprint has no '\n'.
    const std::pair<std::string, std::string> after =
        absl::StrSplit(position, absl::MaxSplits('\n', 1));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<v1::StoredProfile> profiles,
                           context_.stores.profiles->List(request->device_fingerprint(),
                                                          {after.first, after.second}, page_size));
    int64_t bytes = 0;
    for (const v1::StoredProfile& profile : profiles) {
      bytes += static_cast<int64_t>(profile.ByteSizeLong());
      if (bytes > kPageBytesMax && response->profiles_size() > 0) break;
      *response->add_profiles() = profile;
    }
    const int listed = response->profiles_size();
    // A full page may be the last one; then one more, empty, page says so.
    if (listed == page_size || listed < static_cast<int>(profiles.size())) {
      const v1::StoredProfile& last = response->profiles(listed - 1);
      response->set_next_page_token(
          wire::PageToken(filter, absl::StrCat(last.device_fingerprint(), "\n", last.key())));
    }
    return absl::OkStatus();
  });
}

grpc::Status ProfileServiceHandler::ImportProfiles(grpc::ServerContext* context,
                                                   const v1::ImportProfilesRequest* request,
                                                   v1::ImportProfilesResponse* response) {
  return AnswerRpc(context_, *context, Method::kImportProfiles, [&](const Caller&) -> absl::Status {
    PLAIT_RETURN_IF_ERROR(CheckCount(request->profiles_size()));
    // All are checked before any is stored.
    const int64_t latest = absl::ToUnixSeconds(context_.clock.Now() + kClocksDifferMax);
    for (int i = 0; i < request->profiles_size(); ++i) {
      const std::string field = absl::StrCat("profiles[", i, "]");
      PLAIT_RETURN_IF_ERROR(wire::CheckStoredProfile(request->profiles(i), field));
      // The newest are kept: one of the future would stay for good.
      if (request->profiles(i).measure_time().seconds() > latest) {
        return wire::FieldError(absl::StrCat(field, ".measure_time"), "is in the future");
      }
    }
    const std::vector<v1::StoredProfile> profiles(request->profiles().begin(),
                                                  request->profiles().end());
    PLAIT_ASSIGN_OR_RETURN(const int64_t imported, context_.stores.profiles->Put(profiles));
    response->set_imported(imported);
    return absl::OkStatus();
  });
}

grpc::Status ProfileServiceHandler::DropProfiles(grpc::ServerContext* context,
                                                 const v1::DropProfilesRequest* request,
                                                 v1::DropProfilesResponse* response) {
  return AnswerRpc(context_, *context, Method::kDropProfiles, [&](const Caller&) -> absl::Status {
    PLAIT_RETURN_IF_ERROR(CheckCount(request->profiles_size()));
    std::vector<ProfilePosition> names;
    for (int i = 0; i < request->profiles_size(); ++i) {
      const v1::ProfileName& name = request->profiles(i);
      PLAIT_RETURN_IF_ERROR(wire::CheckProfileName(name.device_fingerprint(), name.key(),
                                                   absl::StrCat("profiles[", i, "]")));
      names.push_back({name.device_fingerprint(), name.key()});
    }
    PLAIT_ASSIGN_OR_RETURN(const int64_t dropped, context_.stores.profiles->Drop(names));
    response->set_dropped(dropped);
    return absl::OkStatus();
  });
}

}  // namespace plait
