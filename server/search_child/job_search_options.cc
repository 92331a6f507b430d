#include "server/search_child/job_search_options.h"

#include "base/machine_cores.h"
#include "optimizer/rules/rule.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/predicted_draws.h"

namespace plait {

SearchOptions JobSearchOptions(const internal::Start& start, bool is_portable) {
  const v1::OptimizeOptions& asked = start.options();
  SearchOptions options;
  options.search = asked.search();
  options.schedule = asked.schedule();
  options.rules = is_portable ? PortableRules() : AllRules();
  const int threads = start.search_threads();
  options.threads = threads > 0 ? threads : MachineCores();
  options.engine_version = start.engine_version();
  if (asked.precision() != "strict") {
    options.rel_error_max = asked.max_rel_error();
    options.precision = asked.precision();
  }
  options.verification.accept_inconclusive = asked.accept_inconclusive();
  options.verification.given_inputs = asked.input_sets_size();
  options.verification.rel_error_max = ToleranceOf(asked);
  options.verification.predicted_draws_us = PredictedDraws(start);
  return options;
}

}  // namespace plait
