#include "server/jobs/search_park.h"

#include <csignal>

namespace plait {

void SearchPark::Add(pid_t child) {
  absl::MutexLock lock(&mutex_);
  children_.insert(child);
  if (quiet_) kill(child, SIGSTOP);
}

void SearchPark::Remove(pid_t child) {
  absl::MutexLock lock(&mutex_);
  children_.erase(child);
}

void SearchPark::SetQuiet(bool quiet) {
  absl::MutexLock lock(&mutex_);
  quiet_ = quiet;
  for (const pid_t child : children_) kill(child, quiet ? SIGSTOP : SIGCONT);
}

}  // namespace plait
