#pragma once

// A sweep's result file: a header line, then one line per point in grid order (docs/sweeps.md, contract of the format).
//
//   {"sweep": {"schema_version": 1, "version": "0.4.0", "grid": "<hash>", "points": N, "metrics": [...], "axes": [...], "base": {...}, "shard": "3/7"}}
//   {"point": 17, "key": "<hash>", "config": {"ranks": 4}, "status": "ok", "metrics": {"makespan": 33.0}}
//   {"point": 18, "key": "<hash>", "config": {"ranks": 5}, "status": "illegal", "error": "..."}
//
// "config" has dotted keys with the values that vary. No timestamps: equal inputs give equal bytes.

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "study/sweep/evaluator.hpp"
#include "study/sweep/grid.hpp"

namespace pipeloom::sweep {

/// Part i of n, from 1. A point belongs to part 1 + (number of its key) % n.
struct Shard {
  int index = 1;
  int count = 1;
  /// "3/7"
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// "3/7", or "auto/7": i from the first of these that is set, SLURM_ARRAY_TASK_ID (less SLURM_ARRAY_TASK_MIN), JOB_COMPLETION_INDEX,
  /// SLURM_PROCID (where SLURM_NTASKS > 1), OMPI_COMM_WORLD_RANK, PMI_RANK, RANK. Throws InputError for anything else, and for an i beyond n.
  [[nodiscard]] static Shard parse(std::string_view text);
};

struct Header {
  int schema_version = 1;
  std::string version;
  std::string grid;
  std::uint64_t points = 0;  ///< of the whole grid, whatever the shard
  std::vector<std::string> metrics;
  std::string axes_json;
  std::string base_json;
  std::optional<Shard> shard;
  /// One line, without its end.
  [[nodiscard]] std::string line() const;
};

/// A line of a result that was read.
struct ResultLine {
  std::uint64_t point = 0;
  std::string key;
  /// What varies: {"costs.forward", "1.5"}: dotted key and compact JSON.
  std::vector<std::pair<std::string, std::string>> config;
  std::string status;
  /// {"makespan", "33.0"}: texts of numbers.
  std::vector<std::pair<std::string, std::string>> metrics;
  std::string error;
};

/// Appends the line of a point with its end; `key` is Grid::key() of it.
void append_line(std::string& out, const Grid& grid, const Combination& combination, std::uint64_t point,
                 std::string_view key, const std::vector<std::string>& metrics, const Outcome& outcome);

/// Throw InputError (file:line) for texts that append_line() and Header::line() would not have written.
[[nodiscard]] Header read_header(std::string_view line, const Where& where);
[[nodiscard]] ResultLine read_line(std::string_view line, const Where& where);

/// Reads a result line by line, with little memory.
class ResultReader {
 public:
  /// Throws InputError if the file cannot be read or does not begin with a header.
  explicit ResultReader(const std::string& path);
  ~ResultReader();
  [[nodiscard]] const Header& header() const { return header_; }
  /// False at the end. Throws InputError for lines that are none, naming the line and `sweep --resume`.
  bool next(ResultLine& out);
  /// The text of the line that next() gave last, without its end.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Where where() const;

 private:
  struct File;
  std::unique_ptr<File> file_;
  Header header_;
  std::string text_;
};

}  // namespace pipeloom::sweep
