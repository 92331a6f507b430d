#include "server/search_child/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Report ReportOf(const SearchResult& result) {
  const Graph graph;
  return MakeReport(internal::Start(), {graph, {}, {}}, result);
}

TEST(ReportTest, SaysNothingMoreOfOutputsThatAgree) {
  SearchResult result;
  result.equivalence.verdict = Verdict::kEquivalent;
  EXPECT_EQ(ReportOf(result).equivalence().verdict(), v1::VERDICT_EQUIVALENT);
  EXPECT_THAT(ReportOf(result).warnings(), IsEmpty());
}

TEST(ReportTest, WarnsWhereTheOriginalIsReturnedBecauseOutputsProveLittle) {
  SearchResult result;
  result.equivalence = {.verdict = Verdict::kInconclusive, .inputs_tried = 3, .dead_outputs = true};
  EXPECT_EQ(ReportOf(result).equivalence().verdict(), v1::VERDICT_INCONCLUSIVE);
  EXPECT_THAT(ReportOf(result).warnings(),
              ElementsAre(testing::AllOf(HasSubstr("an output has one value everywhere"),
                                         HasSubstr("--accept-inconclusive"))));
}

TEST(ReportTest, WarnsWhereOutputsThatProveLittleWereAccepted) {
  SearchResult result;
  result.equivalence = {.verdict = Verdict::kInconclusive, .inputs_tried = 3, .dead_outputs = true};
  result.improved = true;
  EXPECT_THAT(ReportOf(result).warnings(), ElementsAre(HasSubstr("was accepted")));
}

TEST(ReportTest, AModelWithOpaqueNodesIsInconclusive) {
  SearchResult result;
  result.equivalence.verdict = Verdict::kEquivalent;
  result.islands = 2;
  EXPECT_EQ(ReportOf(result).equivalence().verdict(), v1::VERDICT_INCONCLUSIVE);
  EXPECT_THAT(ReportOf(result).warnings(), ElementsAre(HasSubstr("nodes that are not understood")));
}

}  // namespace
}  // namespace plait
