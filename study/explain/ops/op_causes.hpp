#pragma once

// Which ops take longer or shorter than predicted, as few factors on sets of ops that have a name, or as a time on top of each of their
// ops where that fits better: only sets whose ops differ in their predicted times can tell.
//
// A cell is all entries of one rank with the same kinds and stages: its members repeat. Sets of cells (a rank, a stage, a kind) are
// searched on the means of cells, microbatches on what is left of entries within cells. A cause is taken where what it explains
// (half of chi squared, capped so that count beats size) is worth more than its price.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"

namespace pipeloom::study::explain {

/// Ops with a name: those of all that is given.
struct OpSet {
  std::optional<Rank> rank = {};
  std::optional<Stage> stage = {};
  std::optional<Microbatch> microbatch = {};
  std::optional<OpKind> kind = {};

  [[nodiscard]] bool has(Rank of, Op op) const {
    return (!rank || *rank == of) && (!stage || *stage == op.stage()) &&
           (!microbatch || *microbatch == op.microbatch()) && (!kind || *kind == op.kind());
  }
  friend bool operator==(const OpSet&, const OpSet&) = default;
};

struct OpCause {
  OpSet ops;
  double log_factor = 0;  ///< 0 if `is_added`
  bool is_added = false;  ///< each op takes `added` longer, else a factor
  double added = 0;       ///< ticks
  double usual = 1;       ///< ticks: mean predicted time of its ops
  bool alike = false;     ///< these are the same within 1 %: a factor and a time on top say the same
  double sd = 0;          ///< of size(): of microbatches, others have `errors`
  /// [cell]: what a mean that is off by one sd makes of size(). Its sd is the root of the sum of squares.
  std::vector<double> errors{};
  std::vector<OpSet> equivalent{};  ///< other names of the same ops

  /// The log factor, or `added` as a part of the usual time: what fits find.
  [[nodiscard]] double size() const { return is_added ? added / usual : log_factor; }
  void set_size(double size) { (is_added ? added : log_factor) = is_added ? size * usual : size; }
};

struct OpFindings {
  std::vector<OpCause> causes;
  double sigma = 0;       ///< spread of single ops, relative
  double cost_sigma = 0;  ///< spread of the predicted costs of cells; 0 where they hold
  std::vector<double>
      shift;  ///< [cell], log: what the costs of the cell are wrong by; all 0 where cost_sigma is
  std::vector<std::uint32_t> cell;  ///< [entry]
};

/// `predicted` by entry, `measured` by step and entry.
[[nodiscard]] OpFindings find_op_causes(const Wiring& wiring, std::span<const Ticks> predicted,
                                        const std::vector<std::vector<Ticks>>& measured);

}  // namespace pipeloom::study::explain
