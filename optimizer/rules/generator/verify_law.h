#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "optimizer/rules/laws/law.h"

namespace plait {

// What a law was tried at.
struct Evidence {
  int shapes = 0;  // assignments of its variable sizes at which both sides have types
  int points = 0;  // random points of GF(p), over all shapes
  int degree = 0;  // no output's polynomial in the inputs has a larger one

  // "12 points at 4 shapes, degree 4, a wrong law passes a point with less than 2^-59"
  std::string ToString() const;
};

// A law's side with other sizes: what each variable becomes; those that are missing stay. Errors:
// those of InferTypes.
absl::StatusOr<Graph> AtSizes(const Graph& side, const std::map<int64_t, int64_t>& sizes);

// The variables of a law's side, each with its own number.
std::map<int64_t, int64_t> SizeVariablesOf(const Graph& side);

// Compares both sides in GF(p), p = 2^61 - 1, at random points and at several shapes: the law's
// own, all variables equal, and odd and even ones from `seed`. Polynomials of degree d that differ
// agree at a point with a probability of d / p at most (PET, Theorem 2; Schwartz and Zippel); a
// function of one element is an unknown one (field_evaluation.h). What is proved so is proved for
// the shapes that were tried; that operators do the same to all sizes is why there are few.
// Errors: FailedPrecondition naming the first shape at which the sides differ, or that there are
// fewer than three shapes at which the source has types; Unimplemented for an operator that has no
// meaning in GF(p).
absl::StatusOr<Evidence> VerifyLaw(const Law& law, uint64_t seed);

// Whether both graphs, which have equal inputs, compute the same at one random point.
bool AgreeAtAPoint(const Graph& a, const Graph& b, uint64_t seed);

}  // namespace plait
