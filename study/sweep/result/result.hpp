#pragma once

// A sweep's result file: a header line, then one line per point in grid order (docs/sweeps.md, contract of the format).
//
//   {"sweep": {"schema_version": 1, "version": "0.4.0", "grid": "<hash>", "points": N, "metrics": [...], "axes": [...], "base": {...}, "scenarios": {"count": 1000, "seed": 0}, "shard": "3/7"}}
//   {"point": 17, "key": "<hash>", "config": {"ranks": 4}, "status": "ok", "metrics": {"makespan": 33.0}}
//   {"point": 18, "key": "<hash>", "config": {"ranks": 5}, "status": "illegal", "error": "..."}
//
// "config" has dotted keys with the values that vary. No timestamps: equal inputs give equal bytes. As CSV the header is the
// comment "# {...}", then come the columns
//
//   point,key,<keys of the grid>,status,<metrics>,error
//
// with an empty cell for a value that a line does not have. A cell is JSON, but for texts that could not be anything else: those are written without
// their quotes. No cell holds a line break, so that a line is a point in both formats.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "study/sweep/grid/grid.hpp"

namespace pipeloom::sweep {

enum class ResultFormat : unsigned char { JsonLines, Csv };

/// Part i of n, from 1. A point belongs to part 1 + (its key read as a hexadecimal number) % n.
struct Shard {
  int index = 1;
  int count = 1;
  /// "3/7"
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool has(std::string_view key) const;
  friend bool operator==(const Shard&, const Shard&) = default;
  /// "3/7", or "auto/7": i from the first of these that is set, SLURM_ARRAY_TASK_ID (from SLURM_ARRAY_TASK_MIN in steps of
  /// SLURM_ARRAY_TASK_STEP), JOB_COMPLETION_INDEX, SLURM_PROCID (where SLURM_NTASKS > 1), OMPI_COMM_WORLD_RANK, PMI_RANK, RANK.
  /// Throws InputError at --shard for anything else, and for an i beyond n.
  [[nodiscard]] static Shard parse(std::string_view text);
};
inline constexpr int kMaxShards = 1'000'000;

struct Header {
  int schema_version = 1;
  std::string version;
  std::string grid;
  std::uint64_t points = 0;  ///< of the whole grid, whatever the shard
  std::vector<std::string> metrics;
  std::string axes_json;
  std::string base_json;
  std::optional<study::ScenarioChoice> scenarios;  ///< that every point ran
  std::optional<Shard> shard;
  /// The header that this program writes for a grid.
  [[nodiscard]] static Header of(const Grid& grid, std::vector<std::string> metrics, std::uint64_t points,
                                 std::optional<Shard> shard);
  /// One line of JSON, without its end.
  [[nodiscard]] std::string line() const;
  /// "1000 scenarios of seed 0", or "no scenarios".
  [[nodiscard]] std::string scenarios_text() const;
};

/// A line of a result that was read.
struct ResultLine {
  std::uint64_t point = 0;
  std::string key;
  /// The values that vary: {"costs.forward", "1.5"}: dotted key and compact JSON.
  std::vector<std::pair<std::string, std::string>> config;
  std::string status;
  /// {"makespan", "33.0"}: texts of numbers.
  std::vector<std::pair<std::string, std::string>> metrics;
  std::string error;
};

/// Throw InputError (file:line) for texts that this program would not have written. `line` comes without its end.
[[nodiscard]] Header read_header(std::string_view line, const Where& where);
[[nodiscard]] ResultLine read_line(std::string_view line, const Where& where);

/// Reads a result of either format line by line: memory for one line, whatever the size of the file.
class ResultReader {
 public:
  /// Throws InputError if the file ("-": standard input) cannot be read or does not begin with a header.
  explicit ResultReader(const std::string& path);
  ~ResultReader();
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) noexcept;

  [[nodiscard]] const Header& header() const;
  [[nodiscard]] ResultFormat format() const;
  /// The line of columns of a CSV file, without its end; else "".
  [[nodiscard]] const std::string& columns() const;
  /// False at the end. Throws InputError for lines that are none or end without a line break, naming the line and `sweep --resume`.
  bool next(ResultLine& out);
  /// The text of the line that next() gave last, without its end, and its place.
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] Where where() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeloom::sweep
