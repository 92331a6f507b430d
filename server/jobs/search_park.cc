#include "server/jobs/search_park.h"

#include <csignal>

namespace plait {

void SearchPark::Add(pid_t child) {
  absl::MutexLock lock(&mutex_);
  children_.insert(child);
  // A child that starts while something is timed would disturb it like the others.
  if (quiet_) kill(child, SIGSTOP);
}

void SearchPark::Remove(pid_t child) {
  absl::MutexLock lock(&mutex_);
  children_.erase(child);
}

void SearchPark::SetQuiet(bool quiet) {
  absl::MutexLock lock(&mutex_);
  quiet_ = quiet;
  // SIGSTOP cannot be caught, so a child has no say in it.
  for (const pid_t child : children_) kill(child, quiet ? SIGSTOP : SIGCONT);
}

}  // namespace plait
