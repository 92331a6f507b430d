#pragma once

#include <limits>

#include "absl/container/inlined_vector.h"
#include "optimizer/cover/cover_table.h"
#include "optimizer/kernels/format_mask.h"

namespace plait {

// One reorder that a cover inserts.
struct Conversion {
  Format from = Format::kPlain;
  Format to = Format::kPlain;
  // At the width that the cover is chosen for; infinite when the table has no such reorder.
  double latency_us = std::numeric_limits<double>::infinity();

  bool can_run() const { return latency_us < std::numeric_limits<double>::infinity(); }
};

// One is what two formats make necessary.
using Conversions = absl::InlinedVector<Conversion, 2>;

// The cheapest reorder that gives `tensor` in the format `to` from one that it exists in; infinite
// when the table has none. Of equal ones that from the first format.
Conversion CheapestConversion(const CoverTable& table, CoverWidth width, TensorId tensor,
                              FormatMask available, Format to);

// The reorders that make a tensor which exists in `available` exist in `wanted` too, each from the
// cheapest format that is there by then: the next format is always the one that costs least, as a
// spanning tree grows (R. C. Prim, 1957). With formats p, c, b and prices p->c 4, p->b 9 and
// c->b 3, a tensor in p that is wanted in c and b becomes c first, and b from c, for 7. Stops short
// of a format that cannot be had, with infinite latency.
// In the order in which they have to run. Pure, as the function above. With two formats there is
// never more than one; the rule is for whoever adds a third.
Conversions CheapestConversions(const CoverTable& table, CoverWidth width, TensorId tensor,
                                FormatMask available, FormatMask wanted);

}  // namespace plait
