#pragma once

// A sweep in pieces: consecutive combinations whose lines one worker writes. Threads and shards all work on
// these, so that their files are made of the same bytes. Where one piece ends and the next begins shows in no file.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/result/outcome.hpp"
#include "study/sweep/result/result.hpp"
#include "study/sweep/run/evaluator.hpp"

namespace pipeloom::sweep {

struct Piece {
  std::uint64_t begin = 0;        ///< first combination
  std::uint64_t end = 0;          ///< one after the last
  std::uint64_t first_point = 0;  ///< point number of the first combination in it that holds
};

/// Combinations per piece: enough pieces to keep `workers` evenly busy, few enough that their table stays under 1 MiB.
[[nodiscard]] std::uint64_t piece_size(std::uint64_t combinations, int workers);

/// Beginnings of pieces. Counting conditions is done once, on all threads: memory of 8 bytes per piece.
class Pieces {
 public:
  /// `size`: combinations per piece, at least 1. Once `stop` is true counting ends early, and the caller must not use the rest.
  /// Throws InputError for a condition that cannot be computed.
  Pieces(const Grid& grid, std::uint64_t size, int threads, const std::atomic<bool>* stop = nullptr);
  [[nodiscard]] std::uint64_t count() const;
  /// REQUIRES: i < count().
  [[nodiscard]] Piece at(std::uint64_t i) const;
  /// The piece that holds this point; count() for points beyond the last.
  [[nodiscard]] std::uint64_t piece_of(std::uint64_t point) const;
  /// Points of the whole grid.
  [[nodiscard]] std::uint64_t points() const { return points_; }

 private:
  std::uint64_t combinations_ = 0;
  std::uint64_t size_ = 1;
  std::uint64_t points_ = 0;
  std::vector<std::uint64_t> first_point_;  // [piece]; empty without conditions
};

/// Evaluates pieces. One per thread.
class PieceWorker {
 public:
  /// REQUIRES: `lines` writes the metrics of `evaluator`.
  PieceWorker(Grid grid, Evaluator evaluator, LineWriter lines, std::optional<Shard> shard);
  /// `skip_below`: points below this are done already (resume). Only the shard's points are evaluated and written. Looks at `stop`
  /// before every point.
  [[nodiscard]] PieceText run(const Piece& piece, std::uint64_t skip_below = 0,
                              const std::atomic<bool>* stop = nullptr);

 private:
  void evaluate();
  /// The settings without microbatches, where these vary.
  void name_family();

  Grid grid_;
  Evaluator evaluator_;
  LineWriter lines_;
  std::optional<Shard> shard_;
  Combination combination_;
  Outcome outcome_;
  std::optional<std::uint32_t> microbatches_;  // position in the grid's keys
  std::string family_;
};

}  // namespace pipeloom::sweep
