#pragma once

// Pieces come in any order, the file grows in one: piece i is written once 0 .. i-1 are.

#include <cstdint>
#include <map>

#include "study/sweep/result/outcome.hpp"
#include "study/sweep/result/result_file.hpp"

namespace pipeloom::sweep {

/// Puts pieces in order. Not thread-safe. What waits is bounded by whoever hands out pieces: look at waiting_bytes() before the next.
class PrefixWriter {
 public:
  /// `first_piece`: the one that is written first.
  PrefixWriter(ResultFile& file, std::uint64_t first_piece) : file_(file), next_(first_piece) {}
  /// Takes the lines of a piece and writes whatever is in turn. A piece that comes twice (a worker that was given up, and the one that did
  /// its work again) is ignored. Behind a piece that is not complete nothing is written any more.
  /// Throws SystemError as ResultFile::append().
  void put(std::uint64_t piece, PieceText text);
  /// The first piece that is missing.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_bytes_; }
  /// Of the pieces that are written.
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// One above the last point of the grid that is behind us; 0 before the first piece.
  [[nodiscard]] std::uint64_t end_point() const { return end_point_; }

 private:
  void write(const PieceText& text);

  ResultFile& file_;
  std::uint64_t next_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t end_point_ = 0;
  bool ended_ = false;
  Counts counts_;
  std::map<std::uint64_t, PieceText> waiting_;
};

}  // namespace pipeloom::sweep
