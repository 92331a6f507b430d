#include "server/services/stream_slots.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {

StreamSlots::Slot::~Slot() {
  if (slots_ != nullptr) slots_->Close(tenant_);
}

absl::StatusOr<StreamSlots::Slot> StreamSlots::Open(absl::string_view tenant) {
  absl::MutexLock lock(&mutex_);
  const auto found = open_of_tenant_.find(tenant);
  if (found != open_of_tenant_.end() && found->second >= tenant_streams_max_) {
    return wire::Error(v1::ERROR_REASON_QUOTA_EXCEEDED,
                       absl::StrCat("tenant ", tenant, " has ", tenant_streams_max_,
                                    " open streams, the most allowed (try again later)"));
  }
  if (open_ >= streams_max_) {
    return wire::Error(v1::ERROR_REASON_QUOTA_EXCEEDED,
                       absl::StrCat("the server has ", streams_max_,
                                    " open streams, the most allowed (try again later)"));
  }
  ++open_;
  ++open_of_tenant_[tenant];
  return Slot(*this, std::string(tenant));
}

int64_t StreamSlots::open() {
  absl::MutexLock lock(&mutex_);
  return open_;
}

void StreamSlots::Close(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  --open_;
  const auto found = open_of_tenant_.find(tenant);
  if (--found->second == 0) open_of_tenant_.erase(found);
}

}  // namespace plait
