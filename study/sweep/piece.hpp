#pragma once

// A sweep in pieces: consecutive combinations whose lines one worker writes. Threads, MPI ranks and shards all work on
// these, so that their files are made of the same bytes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/sweep/evaluator.hpp"
#include "study/sweep/grid.hpp"
#include "study/sweep/result.hpp"

namespace pipeloom::sweep {

struct Piece {
  std::uint64_t begin = 0;        ///< first combination
  std::uint64_t end = 0;          ///< one behind the last
  std::uint64_t first_point = 0;  ///< point number of the first combination in it that holds
};

/// Counts per status, for progress and the summary.
struct Counts {
  std::uint64_t ok = 0;
  std::uint64_t illegal = 0;
  std::uint64_t deadlock = 0;
  std::uint64_t over_memory = 0;
  std::uint64_t failed = 0;
  void add(const Counts& other);
  [[nodiscard]] std::uint64_t total() const { return ok + illegal + deadlock + over_memory + failed; }
};

/// Where pieces begin. Counting conditions is done once, on all threads: memory of 8 bytes per piece.
class Pieces {
 public:
  /// `size`: combinations per piece, at least 1.
  Pieces(const Grid& grid, std::uint64_t size, int threads);
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] Piece at(std::uint64_t i) const;
  /// Points of the whole grid.
  [[nodiscard]] std::uint64_t points() const { return points_; }

 private:
  std::uint64_t combinations_ = 0;
  std::uint64_t size_ = 1;
  std::uint64_t points_ = 0;
  std::vector<std::uint64_t> first_point_;  // [piece]; empty without conditions
};

/// Lines of a piece.
struct PieceText {
  std::string lines;
  Counts counts;
};

/// Evaluates pieces. One per thread.
class PieceWorker {
 public:
  PieceWorker(const Grid& grid, Evaluator evaluator, std::optional<Shard> shard);
  /// `skip_below`: points below this are done already (resume). Only the shard's points are evaluated and written.
  [[nodiscard]] PieceText run(const Piece& piece, std::uint64_t skip_below = 0);

 private:
  Grid grid_;
  Evaluator evaluator_;
  std::optional<Shard> shard_;
  Combination combination_;
  Outcome outcome_;
};

}  // namespace pipeloom::sweep
