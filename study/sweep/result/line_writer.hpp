#pragma once

// Lines of a sweep's result, in either format (study/sweep/result/result.hpp).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "study/sweep/result/outcome.hpp"
#include "study/sweep/result/result.hpp"

namespace pipeloom::sweep {

/// Writes the lines of one grid. Cheap to copy; const functions may be called from several threads at once.
class LineWriter {
 public:
  LineWriter(ResultFormat format, Grid grid, std::vector<std::string> metrics);

  /// The first lines of a file: the header line and, as CSV, the columns. With line ends.
  [[nodiscard]] std::string preamble(const Header& header) const;
  /// Appends the part of a line that follows from the grid alone, up to the status; `key` is Grid::key() of it.
  /// `--resume` compares this part byte for byte.
  void append_identity(std::string& out, const Combination& combination, std::uint64_t point,
                       std::string_view key) const;
  /// Appends the rest of the line with its end. An error becomes valid text of at most kMaxErrorText bytes.
  void append_outcome(std::string& out, const Outcome& outcome) const;
  /// True if `rest` (the line without its identity and end) may come from append_outcome(): checks its form, and that it has exactly these
  /// metrics; not their values.
  [[nodiscard]] bool is_outcome(std::string_view rest) const;

 private:
  void append_json_identity(std::string& out, const Combination& combination) const;
  void append_csv_identity(std::string& out, const Combination& combination) const;

  ResultFormat format_;
  Grid grid_;
  std::vector<std::string> metrics_;
};

inline constexpr std::size_t kMaxErrorText = 2048;

}  // namespace pipeloom::sweep
