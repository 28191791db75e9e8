#pragma once

// Pieces come in any order, the file grows in one: piece i is written once 0 .. i-1 are. What waits is bounded by whoever hands out
// pieces: none is handed out that is more than `window` ahead of the first that is missing.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "study/sweep/result.hpp"
#include "study/sweep/runner.hpp"

namespace pipeloom::sweep {

/// The file of a sweep: opened, locked (flock), read up to where it is sound, cut there, and appended to.
class ResultFile {
 public:
  struct Existing {
    std::uint64_t lines = 0;       ///< sound lines behind the header
    std::uint64_t next_point = 0;  ///< one above the last sound point: every point below is done
  };
  /// Opens `path` ("-": standard output, never locked, never resumed) and leaves `header` as its first line. Throws as run_sweep().
  ResultFile(const std::string& path, const Header& header, ResultFormat format, bool resume, bool force);
  ~ResultFile();
  [[nodiscard]] const Existing& existing() const { return existing_; }
  /// Throws SystemError naming the file and how to go on.
  void append(std::string_view lines);
  /// fsync now.
  void sync();

 private:
  int descriptor_ = -1;
  std::string path_;
  Existing existing_;
};

/// Puts pieces in order. Not thread-safe.
class PrefixWriter {
 public:
  PrefixWriter(ResultFile& file, std::uint64_t first_piece) : file_(file), next_(first_piece) {}
  void put(std::uint64_t piece, std::string lines);
  /// The first piece that is missing.
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  ResultFile& file_;
  std::uint64_t next_;
  std::map<std::uint64_t, std::string> waiting_;
};

}  // namespace pipeloom::sweep
