#include "optimizer/cover/conversions.h"

#include <limits>

// A tensor in p is wanted in c and b; p->c costs 4, p->b 9, c->b 3. First round: c for 4 beats b
// for 9. Second round: b from c for 3 beats b from p for 9. The sum is 7, where a reorder each from
// p costs 13. With directed prices the greedy tree need not be the cheapest one; but it is found in
// a few steps, and every state of the search takes them.

namespace plait {

Conversion CheapestConversion(const KernelTable& table, CoverWidth width, TensorId tensor,
                              FormatMask available, Format to) {
  Conversion best{.latency_us = std::numeric_limits<double>::infinity()};
  for (const Format from : kAllFormats) {
    if (!Has(available, from) || from == to) continue;
    const KernelGroup* const reorder = table.FindReorder(tensor, from, to);
    if (reorder == nullptr) continue;
    const double latency_us = LatencyUs(*reorder, width);
    if (latency_us < best.latency_us) best = {reorder, latency_us};
  }
  return best;
}

std::vector<Conversion> CheapestConversions(const KernelTable& table, CoverWidth width,
                                            TensorId tensor, FormatMask available,
                                            FormatMask wanted) {
  std::vector<Conversion> conversions;
  while ((wanted & ~available) != 0) {
    Conversion next{.latency_us = std::numeric_limits<double>::infinity()};
    for (const Format to : kAllFormats) {
      if (!Has(wanted, to) || Has(available, to)) continue;
      const Conversion conversion = CheapestConversion(table, width, tensor, available, to);
      if (conversion.latency_us < next.latency_us) next = conversion;
    }
    conversions.push_back(next);
    if (next.reorder == nullptr) break;
    available |= MaskOf(next.reorder->output_formats[0]);
  }
  return conversions;
}

}  // namespace plait
