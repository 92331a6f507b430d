#pragma once

#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"

namespace plait {

// How the search for a job works: what its options ask for, on the threads that the daemon allows.
// `is_portable`: what other runtimes do not see need not be as fast there. Pure.
SearchOptions JobSearchOptions(const internal::Start& start, bool is_portable);

}  // namespace plait
