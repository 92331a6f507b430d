#include "gpu_worker/backends/cpu/run/shared_team.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plait {
namespace {

// What a process has one of, because its processors are the same for all that run in it.
struct Registry {
  absl::Mutex mutex;
  std::weak_ptr<Team> team ABSL_GUARDED_BY(mutex);
  ThreadPlacement placement ABSL_GUARDED_BY(mutex) = ThreadPlacement::kAnywhere;
};

Registry& TheRegistry() {
  static Registry registry;
  return registry;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Team>> SharedTeam(int threads, ThreadPlacement placement) {
  Registry& registry = TheRegistry();
  const absl::MutexLock lock(&registry.mutex);
  std::shared_ptr<Team> team = registry.team.lock();
  if (team == nullptr) {
    team = std::make_shared<Team>(threads, placement);
    registry.team = team;
    registry.placement = placement;
  } else if (registry.placement != placement) {
    return absl::FailedPreconditionError(
        "cpu: the threads that this process shares are placed in the other way (all sessions of a "
        "process must pin their threads, or none)");
  }
  return team;
}

}  // namespace plait
