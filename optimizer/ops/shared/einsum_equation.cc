#include "optimizer/ops/shared/einsum_equation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// Letters are labels 0 to 51, capitals first as numpy sorts them; those of an ellipsis follow.
constexpr int kLetters = 52;
constexpr int kLabels = kLetters + kTensorRankMax;
constexpr char kEllipsis = '.';

int LabelOf(char letter) { return absl::ascii_isupper(letter) ? letter - 'A' : letter - 'a' + 26; }

// Letters, and at most one dot in the place of "...".
absl::StatusOr<std::string> ReadTerm(absl::string_view text) {
  const std::string term = absl::StrReplaceAll(text, {{"...", "."}});
  for (const char c : term) {
    if (!absl::ascii_isalpha(c) && c != kEllipsis) {
      return absl::InvalidArgumentError(
          absl::StrCat("the equation's term '", text, "' has more than letters and an ellipsis"));
    }
  }
  if (std::count(term.begin(), term.end(), kEllipsis) > 1 ||
      static_cast<size_t>(std::count(text.begin(), text.end(), kEllipsis)) !=
          3 * static_cast<size_t>(std::count(term.begin(), term.end(), kEllipsis))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the equation's term '", text, "' has dots that are no ellipsis"));
  }
  return term;
}

// Of a term in which the ellipsis stands for `count` axes.
std::vector<int> LabelsOf(const std::string& term, int count) {
  std::vector<int> labels;
  for (const char c : term) {
    if (c != kEllipsis) {
      labels.push_back(LabelOf(c));
      continue;
    }
    for (int i = 0; i < count; ++i) labels.push_back(kLabels - count + i);
  }
  return labels;
}

// What the result has where there is no arrow: the ellipsis, and the letters that stand once.
std::vector<int> ImplicitOutput(const std::vector<std::string>& terms, int ellipsis) {
  std::vector<int> output;
  for (int i = 0; i < ellipsis; ++i) output.push_back(kLabels - ellipsis + i);
  std::vector<int> counts(kLetters);
  for (const std::string& term : terms) {
    for (const char c : term) {
      if (c != kEllipsis) ++counts[LabelOf(c)];
    }
  }
  for (int label = 0; label < kLetters; ++label) {
    if (counts[label] == 1) output.push_back(label);
  }
  return output;
}

// How many axes the ellipses stand for at most.
absl::StatusOr<int> EllipsisAxes(const std::vector<std::string>& terms,
                                 absl::Span<const TensorType> inputs) {
  int most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_ellipsis = terms[i].find(kEllipsis) != std::string::npos;
    const int letters = static_cast<int>(terms[i].size()) - (has_ellipsis ? 1 : 0);
    const int rest = inputs[i].rank() - letters;
    if (rest < 0 || (rest > 0 && !has_ellipsis)) {
      return absl::InvalidArgumentError(absl::StrCat("the equation's term ", i, " has ", letters,
                                                     " letters for ", inputs[i].ToString()));
    }
    most = std::max(most, rest);
  }
  return most;
}

// Sets the extents; an axis of 1 fits any.
absl::Status SetExtents(absl::Span<const TensorType> inputs, EinsumEquation* equation) {
  equation->extents.assign(kLabels, 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < equation->inputs[i].size(); ++axis) {
      int64_t& extent = equation->extents[equation->inputs[i][axis]];
      const int64_t found = inputs[i].shape[axis];
      if (found == 1 || found == extent) continue;
      if (extent != 1) {
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of input ", i,
                                                       " must have ", extent, " elements, is ",
                                                       inputs[i].ToString()));
      }
      extent = found;
    }
  }
  return absl::OkStatus();
}

// The result's labels are among the inputs', each once; sums run along the others.
absl::Status SetSummed(EinsumEquation* equation) {
  std::vector<int> used(kLabels);
  for (const std::vector<int>& labels : equation->inputs) {
    for (const int label : labels) used[label] = 1;
  }
  for (const int label : equation->output) {
    if (used[label] != 1) {
      return absl::InvalidArgumentError(
          "the equation's result must have labels of the inputs, each once");
    }
    used[label] = 2;
  }
  for (int label = 0; label < kLabels; ++label) {
    if (used[label] == 1) equation->summed.push_back(label);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EinsumEquation> ReadEinsumEquation(absl::string_view equation,
                                                  absl::Span<const TensorType> inputs) {
  const std::string compact = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(compact, "->");
  if (sides.size() > 2) return absl::InvalidArgumentError("the equation has two arrows");
  std::vector<std::string> terms;
  for (const absl::string_view text : absl::StrSplit(sides[0], ',')) {
    PLAIT_ASSIGN_OR_RETURN(std::string term, ReadTerm(text));
    terms.push_back(std::move(term));
  }
  if (terms.size() != inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the equation has ", terms.size(), " terms for ", inputs.size(), " inputs"));
  }
  PLAIT_ASSIGN_OR_RETURN(const int ellipsis, EllipsisAxes(terms, inputs));
  EinsumEquation result;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_ellipsis = terms[i].find(kEllipsis) != std::string::npos;
    const int letters = static_cast<int>(terms[i].size()) - (has_ellipsis ? 1 : 0);
    result.inputs.push_back(LabelsOf(terms[i], inputs[i].rank() - letters));
  }
  if (sides.size() == 2) {
    PLAIT_ASSIGN_OR_RETURN(const std::string term, ReadTerm(sides[1]));
    result.output = LabelsOf(term, ellipsis);
  } else {
    result.output = ImplicitOutput(terms, ellipsis);
  }
  PLAIT_RETURN_IF_ERROR(SetExtents(inputs, &result));
  PLAIT_RETURN_IF_ERROR(SetSummed(&result));
  return result;
}

}  // namespace plait
