#include "storage/stores.h"

#include "absl/strings/match.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

TEST(StoresTest, NamesTheBackendsWhenOneIsUnknown) {
  ManualClock clock;
  const absl::Status status = OpenStores("oracle", {}, clock).status();
  EXPECT_EQ(status.message(), "storage backend: must be one of memory, sqlite, is \"oracle\"");
}

TEST(StoresTest, RefusesASecondOwnerOfADirectory) {
  TemporaryDirectory directory;
  ManualClock clock;
  absl::StatusOr<Stores> first = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = OpenStores("sqlite", {directory.path()}, clock).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_TRUE(absl::StrContains(second.message(), directory.path())) << second;
  EXPECT_TRUE(absl::StrContains(second.message(), absl::StrCat("process ", getpid()))) << second;
  *first = Stores();
  EXPECT_TRUE(OpenStores("sqlite", {directory.path()}, clock).ok());
}

TEST(StoresTest, NamesADirectoryThatCannotBeMade) {
  ManualClock clock;
  const absl::Status status = OpenStores("sqlite", {"/proc/plait"}, clock).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "/proc/plait")) << status;
}

}  // namespace
}  // namespace plait
