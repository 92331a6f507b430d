// Part of loops_body.h: products of a few rows with a matrix that is read where it lies.

namespace plait {
namespace {

// Where an element of a sum of halves comes from. Vectors a and b consist of blocks, the numbers of
// each of which are to be added up; their halves are added, those of a's blocks first.
constexpr int LowerHalfAt(int block, int at) {
  const int half = block / 2;
  const int blocks = kVectorFloats / block;
  const int number = at / half;
  return (number < blocks ? 0 : kVectorFloats) + number % blocks * block + at % half;
}

template <int kBlock, int... kAt>
inline LooseVector AddHalves(LooseVector a, LooseVector b, std::integer_sequence<int, kAt...>) {
  return __builtin_shufflevector(a, b, LowerHalfAt(kBlock, kAt)...) +
         __builtin_shufflevector(a, b, (LowerHalfAt(kBlock, kAt) + kBlock / 2)...);
}

// Of as many vectors as one has floats the sum of each; of fewer, some numbers that add up to it,
// beside each other.
template <int kCount>
inline LooseVector SumsOf(const LooseVector* vectors) {
  if constexpr (kCount == 1) {
    return vectors[0];
  } else {
    return AddHalves<2 * kVectorFloats / kCount>(SumsOf<kCount / 2>(vectors),
                                                 SumsOf<kCount / 2>(vectors + kCount / 2),
                                                 std::make_integer_sequence<int, kVectorFloats>());
  }
}

typedef int32_t LooseBits
    __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(4), may_alias));

// From place n on: a vector of bits that keep the last n floats of one.
struct KeptBits {
  constexpr KeptBits() {
    for (int i = kVectorFloats; i < 2 * kVectorFloats; ++i) bits[i] = -1;
  }
  int32_t bits[2 * kVectorFloats] = {};
};
constexpr KeptBits kKeptBits;

// What is left of `size` floats behind the whole vectors, and zeros in the other places.
inline LooseVector LoadRest(const float* x, int64_t size) {
  const int64_t count = size % kVectorFloats;
  if (size >= kVectorFloats) {
    const LooseBits kept = *reinterpret_cast<const LooseBits*>(kKeptBits.bits + count);
    const LooseBits bits = *reinterpret_cast<const LooseBits*>(x + size - kVectorFloats);
    return reinterpret_cast<LooseVector>(bits & kept);
  }
  float rest[kVectorFloats] = {};
  for (int64_t i = 0; i < count; ++i) rest[i] = x[i];
  return LoadVector(rest);
}

// kRows rows by up to as many columns as a vector has sums of them. Those behind the last one are
// that once more, whose sums are left out.
template <int kRows>
void TransposedTile(const RowsProduct& p, int64_t row, int64_t column) {
  constexpr int kColumns = kVectorFloats / kRows;
  constexpr int kTogether = kColumns < 8 ? kColumns : 8;  // that have registers for their places
  const int64_t count = p.columns - column < kColumns ? p.columns - column : kColumns;
  const float* const* const left = p.left + row;
  LooseVector sums[kVectorFloats] = {};
#pragma GCC unroll 2
  for (int first = 0; first < kColumns; first += kTogether) {
    const float* columns[kTogether];
#pragma GCC unroll 8
    for (int i = 0; i < kTogether; ++i) {
      const int64_t at = first + i < count ? first + i : count - 1;
      columns[i] = p.right + (column + at) * p.right_row_floats;
    }
    const auto add = [&](const auto& load) {
      LooseVector x[kRows];
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) x[m] = load(left[m]);
#pragma GCC unroll 8
      for (int i = 0; i < kTogether; ++i) {
        const LooseVector right = load(columns[i]);
#pragma GCC unroll 4
        for (int m = 0; m < kRows; ++m) sums[m * kColumns + first + i] += x[m] * right;
      }
    };
    int64_t k = 0;
    for (; k + kVectorFloats <= p.depth; k += kVectorFloats) {
      add([k](const float* from) { return LoadVector(from + k); });
    }
    if (k < p.depth) add([&p](const float* from) { return LoadRest(from, p.depth); });
  }
  float results[kVectorFloats];
  StoreVector(results, SumsOf<kVectorFloats>(sums));
  for (int m = 0; m < kRows; ++m) {
    float* const y = p.y[row + m] + column;
    for (int64_t i = 0; i < count; ++i) y[i] = results[m * kColumns + i];
  }
}

// kRows rows by so many vectors of columns, from `column` on: the last one may overlap the one
// before it.
template <int kRows, int kVectors>
void RowMajorTile(const RowsProduct& p, int64_t row, int64_t column) {
  const float* const* const left = p.left + row;
  const float* right = p.right + column;
  const int64_t last = VectorAt(column + (kVectors - 1) * kVectorFloats, p.columns) - column;
  const auto place = [last](int i) { return i < kVectors - 1 ? i * kVectorFloats : last; };
  LooseVector sums[kRows][kVectors] = {};
  for (int64_t k = 0; k < p.depth; ++k, right += p.right_row_floats) {
    LooseVector x[kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) x[i] = LoadVector(right + place(i));
#pragma GCC unroll 4
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) sums[m][i] += left[m][k] * x[i];
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      StoreVector(p.y[row + m] + column + place(i), sums[m][i]);
    }
  }
}

// A tile of up to so many vectors; returns where the next one begins.
template <int kRows, int kVectors>
int64_t RunRowMajorTile(const RowsProduct& p, int64_t row, int64_t column) {
  if constexpr (kVectors > 1) {
    if (p.columns - column <= (kVectors - 1) * kVectorFloats) {
      return RunRowMajorTile<kRows, kVectors - 1>(p, row, column);
    }
  }
  RowMajorTile<kRows, kVectors>(p, row, column);
  return column + kVectors * kVectorFloats;
}

// Calls run.template operator()<kRows>(row) for tiles of 4, 2 and 1 rows.
template <typename Run>
inline void ForEachTileOfRows(int64_t rows, const Run& run) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) run.template operator()<4>(row);
  if (row + 2 <= rows) {
    run.template operator()<2>(row);
    row += 2;
  }
  if (row < rows) run.template operator()<1>(row);
}

// All rows take a block of columns, which stays in the first cache, before the next one.
void RowsByTransposed(const RowsProduct& p) {
  constexpr int64_t kBlockColumns = 32;
  RowsProduct block = p;
  for (int64_t first = 0; first < p.columns; first += kBlockColumns) {
    block.columns = first + kBlockColumns < p.columns ? first + kBlockColumns : p.columns;
    ForEachTileOfRows(p.rows, [&]<int kRows>(int64_t row) {
      for (int64_t column = first; column < block.columns; column += kVectorFloats / kRows) {
        TransposedTile<kRows>(block, row, column);
      }
    });
  }
}

// Fewer columns than a vector has floats.
void RowsByNarrow(const RowsProduct& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.columns; ++column) {
      float sum = 0;
      for (int64_t k = 0; k < p.depth; ++k) {
        sum += p.left[row][k] * p.right[k * p.right_row_floats + column];
      }
      p.y[row][column] = sum;
    }
  }
}

void RowsByRowMajor(const RowsProduct& p) {
  if (p.columns < kVectorFloats) return RowsByNarrow(p);
  ForEachTileOfRows(p.rows, [&]<int kRows>(int64_t row) {
    // The sums of a tile, what they are made of and a number of each row have registers.
    constexpr int kVectors = kVectorFloats == 16 ? (kRows == 4 ? 4 : 8) : 8 / kRows;
    for (int64_t column = 0; column < p.columns;) {
      column = RunRowMajorTile<kRows, kVectors>(p, row, column);
    }
  });
}

}  // namespace
}  // namespace plait
