#include "server/services/event_hub.h"

#include <thread>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(EventHubTest, DoesNotWaitForWhatHasHappened) {
  EventHub hub;
  const uint64_t seen = hub.Changes();
  hub.Notify();
  EXPECT_NE(hub.Changes(), seen);
  hub.Await(seen, absl::InfiniteDuration());
}

TEST(EventHubTest, WakesAWatcher) {
  EventHub hub;
  const uint64_t seen = hub.Changes();
  std::thread watcher([&] { hub.Await(seen, absl::InfiniteDuration()); });
  hub.Notify();
  watcher.join();
}

TEST(EventHubTest, WaitsNoLongerThanAsked) {
  EventHub hub;
  hub.Await(hub.Changes(), absl::ZeroDuration());
  EXPECT_FALSE(hub.closed());
}

TEST(EventHubTest, NobodyWaitsAfterItWasClosed) {
  EventHub hub;
  std::thread watcher([&] { hub.Await(hub.Changes(), absl::InfiniteDuration()); });
  hub.Close();
  watcher.join();
  hub.Await(hub.Changes(), absl::InfiniteDuration());
  EXPECT_TRUE(hub.closed());
}

}  // namespace
}  // namespace plait
