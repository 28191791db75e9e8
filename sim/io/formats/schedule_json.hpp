#pragma once

// A schedule as JSON:
//
//   {"ranks": 2, "stages": 2, "microbatches": 1, "placement": [[0], [1]], "orders": [["0F0", "0B0"], ["1F0", "1B0"]]}
//
// placement[r] lists the stages of rank r; orders[r] is its queue in PyTorch's op text. With replicas a stage is on several
// ranks, and the replica of a microbatch follows from the ranks of its ops.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// Throws InputError at the first entry that does not fit: an op that does not parse or is out of range, counts that
/// disagree with the arrays, a placement that contradicts the orders. "ranks", "stages", "microbatches" and "placement" may
/// be left out; then the orders say them. Whether the schedule can run is validate()'s question.
[[nodiscard]] Schedule read_schedule_json(const Value& root);

/// One queue per line.
void write_schedule_json(std::ostream& out, const Schedule& schedule);

// Places of entries in a schedule file: looked up only once something is wrong with it.

/// Positions in the text of one schedule file, JSON or PyTorch's CSV.
class SchedulePlaces {
 public:
  /// `text` has been read as a schedule already, so it parses; `name` is the file's. Keeps a view of the text's rows: it
  /// must outlive this.
  SchedulePlaces(std::string_view text, std::string name);

  /// file:line:column of entry `slot` of a rank's queue; of the rank's row if there is no such entry.
  [[nodiscard]] Where of(Rank rank, std::size_t slot) const;
  /// file:line:column of cell `cell` of a CSV row, blank cells and communication counted.
  [[nodiscard]] Where of_cell(Rank rank, std::size_t cell) const;
  /// The place that a diagnostic speaks of.
  [[nodiscard]] Where of(const Diagnostic& diagnostic) const { return of(diagnostic.rank, diagnostic.slot); }

 private:
  [[nodiscard]] Where of_json(Rank rank, std::size_t slot) const;
  [[nodiscard]] Where of_csv(Rank rank, std::size_t slot) const;

  std::string name_;
  bool is_json_ = false;
  Document document_;                   // of JSON
  std::vector<std::string_view> rows_;  // of CSV
};

}  // namespace pipeloom::io
