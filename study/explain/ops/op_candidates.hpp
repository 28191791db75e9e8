#pragma once

// Which sets of ops could take longer or shorter: the names that there are, the cells and entries that each covers, and which of them no
// measurement can tell apart. What fits is found in op_causes.cpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "study/explain/model.hpp"
#include "study/explain/ops/op_causes.hpp"

namespace pipeloom::study::explain {

inline constexpr double kSmallestSigma = 0.001;

/// What an op set says of one cell or entry: the part of its time that it covers.
struct Cover {
  std::uint32_t index = 0;
  double part = 1;
};

/// A set of ops and where it is. Sets with the same cover are one candidate.
struct Candidate {
  OpSet ops;
  std::vector<Cover> covers;
  std::vector<OpSet> equivalent;
  double usual = 1;  ///< ticks: mean predicted time of its ops
  bool alike = true;

  [[nodiscard]] OpCause cause(bool is_added) const {
    return {.ops = ops, .is_added = is_added, .usual = usual, .alike = alike, .equivalent = equivalent};
  }
};

/// A cell: repeats of an entry.
struct Cell {
  std::uint32_t first = 0;  ///< an entry of it
  double mean = 0;          ///< of the log ratios, microbatches taken off
  double count = 0;
};

struct Sample {
  std::uint32_t entry = 0;
  double value = 0;  ///< log(measured / predicted)
};

/// Everything of one search.
struct Search {
  const Wiring* wiring = nullptr;
  std::vector<std::uint32_t> cell_of;
  std::vector<Cell> cells;
  std::vector<std::vector<Sample>> samples;  ///< [cell]
  std::vector<Candidate> of_cells;
  std::vector<Candidate> of_entries;  ///< microbatches
  double sigma = kSmallestSigma;      ///< of single ops
};

/// A search of causes ends at this many.
inline constexpr std::size_t kMostCauses = 8;
/// Of a loss: a cell or entry whose loss changes by less says nothing.
inline constexpr double kSpeaks = 1;

/// Log likelihood that a cause has to explain before it is named: more for a kind, for a large or a faster one, for time on top of
/// ops, which a factor is preferred to where both fit alike, and for the number of candidates.
[[nodiscard]] double price_of(const OpCause& cause, std::size_t candidates);

/// Part of an entry's predicted time that `ops` covers.
[[nodiscard]] double part_covered(const Wiring& wiring, std::size_t e, const OpSet& ops);

/// Fills cell_of, cells and room for samples. REQUIRES: wiring.
void number_cells(Search& search);

/// Fills the candidates. Sets that cover the same are one, with both names. REQUIRES: cells with counts.
void list_candidates(Search& search);

// What causes make of the time of an entry, whose parts (the ops of a group) they may cover alone. Sizes are natural logs of factors.

/// Of an entry's time, whatever causes make faster.
inline constexpr double kLeastLeft = 0.01;

/// log of the entry's time under `causes` over its predicted time. REQUIRES: that is not 0.
[[nodiscard]] double log_factor_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes);

/// How much log_factor_of changes with the size of `of`.
[[nodiscard]] double slope_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes,
                              const OpCause& of);

/// The part of an entry's time under `causes` that `ops` covers; `cover` is that of its predicted time.
[[nodiscard]] double part_now(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes,
                              const Cover& cover, const OpSet& ops);

/// What microbatches' causes add to an entry on top of its cell's.
[[nodiscard]] double microbatch_log(const Wiring& wiring, std::size_t e, std::span<const OpCause> of_cells,
                                    std::span<const OpCause> of_microbatches);

/// The log factor of a part that makes log of the whole `log_whole`, and back.
[[nodiscard]] double of_part(double log_whole, double part);
[[nodiscard]] double of_whole(double log_factor, double part);

}  // namespace pipeloom::study::explain
