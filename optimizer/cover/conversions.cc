#include "optimizer/cover/conversions.h"

// A tensor in p is wanted in c and b; p->c costs 4, p->b 9, c->b 3. First round: c for 4 beats b
// for 9. Second round: b from c for 3 beats b from p for 9. The sum is 7, where a reorder each from
// p costs 13. With directed prices the greedy tree need not be the cheapest one; but it is found in
// a few steps, and every state of the search takes them.

namespace plait {

Conversion CheapestConversion(const CoverTable& table, CoverWidth width, TensorId tensor,
                              FormatMask available, Format to) {
  Conversion best{.to = to};
  for (const Format from : kAllFormats) {
    if (!Has(available, from) || from == to) continue;
    const double latency_us = table.ReorderUs(tensor, from, to, width);
    if (latency_us < best.latency_us) best = {from, to, latency_us};
  }
  return best;
}

Conversions CheapestConversions(const CoverTable& table, CoverWidth width, TensorId tensor,
                                FormatMask available, FormatMask wanted) {
  Conversions conversions;
  while ((wanted & ~available) != 0) {
    Conversion next;
    for (const Format to : kAllFormats) {
      if (!Has(wanted, to) || Has(available, to)) continue;
      const Conversion conversion = CheapestConversion(table, width, tensor, available, to);
      if (conversion.latency_us < next.latency_us) next = conversion;
    }
    conversions.push_back(next);
    if (!next.can_run()) break;
    available |= MaskOf(next.to);
  }
  return conversions;
}

}  // namespace plait
